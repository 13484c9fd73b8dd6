#!/usr/bin/env python3
"""Runs of eval on the project's suites, with their pages: the embedded model and the teacher, alone and with a search.

    bench/reports.py KERNELWRIGHT --runs FOLDER --out bench/h200/reports [--count 24] [--levels 1,2,5,20]
                     [--samples 4] [--search 60s] [--only alone,search-embedded,search-teacher]
                     [--gpus N] [--minutes M] [--backend cuda|cpu] [--twins] [--executors N] [--pages]

Each run is of the first --count tasks of each level, all levels together, in as many shards as there are GPUs, and
leaves its lines and what was written in FOLDER; the same command goes on with what is missing, with pages of what
there is. --out gets reports.json, which has the command, the seconds and the metrics of each run. It also gets the page
of each run, NAME.html, if the page has at most 200 KB. --pages: makes these alone, of what FOLDER has.
"""

import argparse
import json
import subprocess
import threading
import time
from pathlib import Path

from files import write_whole
from gpus import part_of_host, share
from policies import Ended, device, output_of, run_until

ROOT = Path(__file__).resolve().parent.parent
LARGEST_PAGE = 200_000  # bytes of a page that is committed


def suite_of(flags):
    """The files of tasks, one for each level."""
    files = []
    for level in flags.levels.split(","):
        name = f"level{level}.jsonl"
        lines = (flags.suites / name).read_text().splitlines(keepends=True)[:flags.count]
        files.append(flags.runs / "suite" / name)
        write_whole(files[-1], "".join(lines))
    return files


def commands(flags):
    """NAME: what `eval SUITE` is told."""
    common = ["--coverage", "pure", "--backend", flags.backend, "--device", "h200", "--seed", "1",
              "--build-timeout", "20", "--trial-timeout", "60", "--executors", flags.executors,
              *(["--twins"] if flags.twins else [])]
    local = ["--policy", "local", "--max-tokens", "6000", "--concurrency", "256"]
    searched = ["--search", flags.search, "--samples", "3"]
    return {"alone": [*local, "--temperature", "0.4", "--samples", flags.samples, "--beside", "teacher@1",
                      "--interval-width", "0.03", *common],
            "search-embedded": [*local, *searched, *common],
            "search-teacher": ["--policy", "teacher", *searched, *common]}


class Run:
    """One of them, in shards."""

    def __init__(self, name, words, suite, flags):
        self.name, self.flags, self.lock = name, flags, threading.Lock()
        self.folder = flags.runs / name
        self.words = list(map(str, words))
        self.command = list(map(str, [flags.kernelwright, "eval", *suite, *self.words, "--out", self.folder]))
        self.text = " ".join(["kernelwright eval", f"(the first {flags.count} of suites/level{{{flags.levels}}}.jsonl)", *self.words])
        flags.runs.mkdir(parents=True, exist_ok=True)

    def beside(self, what):
        """A file of the run's that is not in its folder, which eval --out has to itself."""
        return self.flags.runs / f"{self.name}.{what}"

    def lines(self, part):
        return self.beside(f"part{part}.jsonl")

    def all_lines(self):
        return sorted(self.flags.runs.glob(f"{self.name}.part*.jsonl"))

    def seconds(self):
        path = self.beside("seconds")
        return float(path.read_text()) if path.exists() else 0.0

    def shard(self, part, gpu, deadline):
        """Judges it, or as much of it as there is time for."""
        prefix, environment = part_of_host(gpu, self.flags.gpus)
        others = [path for path in self.all_lines() if path != self.lines(part)]
        command = [*prefix, *self.command, "--lines", self.lines(part), "--shard", f"{part}/{self.flags.gpus}",
                   *(word for other in others for word in ("--merge", other))]
        begun = time.monotonic()
        try:
            with self.beside(f"part{part}.log").open("a") as log:
                run_until(deadline, list(map(str, command)), stdout=log, stderr=log, env=environment, cwd=ROOT)
        except Ended:
            print(f"{self.name}, shard {part}: ended; goes on from its lines", flush=True)
        finally:
            with self.lock:
                self.beside("seconds").write_text("%.1f" % (self.seconds() + time.monotonic() - begun))

    def page(self):
        """Of all lines that there are; its metrics, or nothing where there is none."""
        parts = self.all_lines()
        texts = [path.read_text().splitlines(keepends=True) for path in parts]
        lines = [line for text in texts for line in text[1:] if line.endswith("\n")]
        if not lines:
            return None
        header = next(text[0] for text in texts if text)
        write_whole(self.folder / "lines.jsonl", "".join([header, *lines]))
        page = self.flags.out / f"{self.name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        # With sources the pages have megabytes; the run's folder has them.
        shown = subprocess.run([self.flags.kernelwright, "report", self.folder, "--out", page, "--json", "--no-sources"],
                               capture_output=True, text=True)
        if shown.returncode:
            raise SystemExit(shown.stderr)
        kept = page.stat().st_size <= LARGEST_PAGE
        if not kept:
            page.unlink()
        return {"command": self.text, "page": page.name if kept else None, "gpu_seconds": round(self.seconds(), 1),
                **{k: v for k, v in json.loads(shown.stdout).items() if k not in ("run", "asked")}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright", type=Path)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--suites", type=Path, default=ROOT / "suites")
    parser.add_argument("--levels", default="1,2,5,20")
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--samples", type=int, default=4, help="of the model, alone")
    parser.add_argument("--search", default="60s", help="time of each search")
    parser.add_argument("--only", default="alone,search-embedded,search-teacher")
    parser.add_argument("--twins", action="store_true")
    parser.add_argument("--executors", type=int, default=2)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--backend", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("--commit", default="", help="where there is no git")
    flags = parser.parse_args()
    deadline = time.monotonic() + 60 * flags.minutes
    flags.kernelwright = flags.kernelwright.resolve()
    flags.runs = flags.runs.resolve()
    if flags.runs.is_relative_to(ROOT) and Path.cwd() == ROOT:  # as pages name it
        flags.runs = flags.runs.relative_to(ROOT)
    suite = suite_of(flags)
    found = flags.out / "reports.json"
    runs = [Run(name, words, suite, flags) for name, words in commands(flags).items() if name in flags.only.split(",")]

    def work(job, gpu):
        job[0].shard(job[1], gpu, deadline)

    jobs = [(run, part + 1) for run in runs for part in range(flags.gpus)]
    kept = json.loads(found.read_text()) if found.exists() else {"runs": {}}
    if not flags.pages:
        share(jobs, flags.gpus, work, lambda: time.monotonic() > deadline)
        kept.update({"device": device(flags.backend), "gpus": flags.gpus,
                     "commit": flags.commit or output_of("git", "rev-parse", "--short", "HEAD")})
    for run in runs:
        if shown := run.page():
            kept["runs"][run.name] = shown
    write_whole(found, json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
