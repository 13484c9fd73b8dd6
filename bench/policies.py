#!/usr/bin/env python3
"""What policies make of the project's suites: alone, and with a search.

    bench/policies.py KERNELWRIGHT --runs FOLDER --out bench/h200/policies.json
                      [--policy teacher[@N]] [--policy NAME=MODEL_FOLDER ...] [--levels 1,2,5,20] [--samples 10]
                      [--search 60s] [--twins] [--no-time] [--count N] [--minutes M] [--gpus N]

For each policy and level one row: `kernelwright eval suites/levelN.jsonl --coverage pure`, and with --search another
one, of `eval --search`. Without a search the policies whose row of a level is missing are measured in one command
(--beside), which shares what references cost: `command` of their rows is the whole of it, `gpu_seconds` are of all.
Lines of eval are kept in FOLDER, its summary is the row; a row that --out has of the same command, whoever
was beside, is kept, so that the rest can be measured later. --count: a suite's first N tasks alone; --gpus: each command
in so many shards (eval --shard), each on a GPU and a part of the cores of its own (CUDA_VISIBLE_DEVICES=0,0,1,1: two on each of two); --minutes: what
is under way after so many is ended, and goes on from its lines when the same command is given again, with any --gpus but for searches, which share
what they find within a shard (`gpu_seconds` are of all shards and parts together, `devices` of any, `costs` and `executors` of each shard's last part). NAME is what the row calls the model. teacher@N: N samples of
it without a search, where models have --samples; its schedules are all different, and models often repeat themselves.
Commands say --device h200, so that one that was ended on an H100 can go on on an H200: the floor of times is an H200's.
"""

import argparse
import hashlib
import json
import re
import subprocess
import threading
import time
from pathlib import Path

from files import digest, model_digest, write_whole
from gpus import devices_of, part_of_host, share

ROOT = Path(__file__).resolve().parent.parent


def output_of(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def within_root(path):
    """As commands say it, whose lines go on on another host, too."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def device(backend):
    if backend == "cpu":
        return "CPU"
    return output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").split("\n")[0]


def suite(level, flags):
    """The file, and its name in a command that others can run."""
    path = within_root(flags.suites / ("level%d.jsonl" % level))
    name = str(path)
    if not flags.count:
        return path, name
    part = flags.runs / ("level%d.first%d.jsonl" % (level, flags.count))
    text = "".join(line + "\n" for line in (ROOT / path).read_text().splitlines()[:flags.count])
    if not part.exists() or part.read_text() != text:
        part.write_text(text)
    return within_root(part), "(the first %d of %s)" % (flags.count, name)


def command_of(policies, searched, flags):
    """MODEL stands for the folder of each that is a model; the first is one, where there is any."""
    own = (flags.search_samples if searched else flags.samples if policies[0] != "teacher"
           else flags.teacher_samples)
    words = ["--coverage", "pure", "--backend", flags.backend, "--device", "h200", "--samples", own, "--seed", flags.seed,
             "--executors", flags.executors, "--build-timeout", 20, "--trial-timeout", 60]
    main, *others = ["teacher" if policy == "teacher" else "MODEL" for policy in policies]
    words += ["--policy", "teacher"] if main == "teacher" else [
        "--policy", "local", "--model", main, "--max-tokens", 6000, "--concurrency", 256]
    if searched:
        words += ["--search", flags.search]
    else:
        words += ["--interval-width", 0.03]
        words += [] if main == "teacher" else ["--temperature", flags.temperature]
    words += [flag for flag, given in (("--twins", flags.twins), ("--no-time", flags.no_time)) if given]
    if flags.teacher_samples != flags.samples:
        others = ["teacher@%d" % flags.teacher_samples if other == "teacher" else other for other in others]
    words += [word for other in others for word in ("--beside", other)]
    return list(map(str, words))


def text_of(policies, level, searched, flags):
    """The command as others can run it."""
    return " ".join(["kernelwright eval", suite(level, flags)[1], *command_of(policies, searched, flags), "--json"])


def content_of(folder, level, flags):
    """What a policy is, and what it is asked about, whatever they are called."""
    return {"model": model_digest(folder) if folder else None, "tasks": digest(ROOT / suite(level, flags)[0])}


def is_row_of(row, policy, folder, level, searched, flags):
    """Alone or beside others, which changes nothing of what it is asked and how that is judged."""
    if (row["policy"], row["level"]) != (policy, level) or row.get("content") != content_of(folder, level, flags):
        return False
    if policy != "teacher":
        return re.sub(r" --beside \S+", "", row["command"]) == text_of([policy], level, searched, flags)
    # It stands beside models whose flags say nothing to it, but for the number of its own samples.
    command = re.sub(r" --beside (?!teacher)\S+", "", row["command"])
    return command in [text_of(names, level, searched, flags) for names in (["teacher"], ["a model", "teacher"])]


def wanted_jobs(policies, found, flags):
    """(names of policies that are measured in one command, level, with a search or not): what has no row yet."""
    modes = [True] if flags.search_only else [False, True] if flags.search else [False]
    models_first = sorted(policies, key=lambda policy: policy == "teacher")
    jobs = []
    for level in map(int, flags.levels.split(",")):
        for searched in modes:
            missing = [policy for policy in models_first
                       if not any(is_row_of(row, policy, policies[policy], level, searched, flags) for row in found["rows"])]
            together = [[policy] for policy in missing] if searched else [missing] if missing else []
            jobs += [(names, level, searched) for names in together]
    return jobs


class Ended(Exception):
    """The time was over."""


def run_until(deadline, command, **options):
    """The command; Ended where it was ended at the deadline."""
    process = subprocess.Popen(command, **options)
    try:
        code = process.wait(timeout=max(1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
        raise Ended from None
    if code:
        raise subprocess.CalledProcessError(code, command)


MERGING = 60  # seconds that adding up what shards found may take beyond the deadline


class Measurement:
    """One command, in shards, and what it leaves in the folder of runs."""

    def __init__(self, tool, folders, policies, level, searched, flags, deadline):
        self.policies, self.level, self.searched, self.flags = policies, level, searched, flags
        self.deadline, self.lock, self.left = deadline, threading.Lock(), flags.gpus
        self.text = text_of(policies, level, searched, flags)
        models = iter([str(within_root(folders[policy])) for policy in policies if policy != "teacher"])
        words = [next(models) if word == "MODEL" else word for word in command_of(policies, searched, flags)]
        self.command = [str(tool), "eval", str(suite(level, flags)[0]), *words, "--json"]
        self.content = [content_of(folders[policy], level, flags) for policy in policies]
        # Of this question alone: its lines stay when its rows are there.
        asked = [self.text, *words, flags.commit, json.dumps(self.content), *(["%d shards" % flags.gpus] if searched else [])]
        self.lines = flags.runs / ("%s-%d%s-%s.jsonl" % (
            "+".join(policies).replace("/", "_"), level, "-search" if searched else "",
            hashlib.sha256("\n".join(asked).encode()).hexdigest()[:8]))

    def kept(self, suffix):
        path = self.lines.with_suffix(suffix)
        return path.read_text() if path.exists() else ""

    def summaries(self, lines, gpu, deadline, *words):
        """Of the command with these words, whose lines go to a file."""
        others = [path for path in [self.lines, *self.lines.parent.glob(self.lines.stem + ".*-of-*.jsonl")]
                  if path != lines and path.exists()]
        command = [*self.command, "--lines", lines, *words, *(word for other in others for word in ("--merge", other))]
        prefix, environment = part_of_host(gpu, self.flags.gpus)
        with self.lock:
            used = set(self.kept(".devices").splitlines()) | {device(self.flags.backend)}
            self.lines.with_suffix(".devices").write_text("\n".join(sorted(used)) + "\n")
        begun, out = time.monotonic(), lines.with_suffix(".out")
        try:
            with out.open("w") as shown, lines.with_suffix(".log").open("a") as log:
                run_until(deadline, [*prefix, *map(str, command)], cwd=ROOT, stdout=shown, stderr=log,
                          env=environment)
        finally:
            with self.lock:
                part = devices_of(self.flags.gpus) / self.flags.gpus if "--shard" in words else 1
                seconds = float(self.kept(".seconds") or 0) + part * (time.monotonic() - begun)
                self.lines.with_suffix(".seconds").write_text("%.1f" % seconds)
        return [row for row in map(json.loads, out.read_text().splitlines()) if "summary" in row]

    def shard(self, part, gpu):
        """Measures it; the rows of all where it was the last one."""
        shards = self.flags.gpus
        deadline = self.deadline
        if shards > 1:
            name = self.lines.with_suffix(".%d-of-%d.jsonl" % (part, shards))
            if not name.with_suffix(".summary").exists():  # else it was measured to its end before
                own = self.summaries(name, gpu, deadline, "--shard", "%d/%d" % (part, shards))
                name.with_suffix(".summary").write_text(json.dumps(own))
            deadline = max(deadline, time.monotonic() + MERGING)  # nothing is left to judge
        with self.lock:
            self.left -= 1
            if self.left:
                return []
        of_all = self.summaries(self.lines, gpu, deadline)
        parts = [of_all] if shards == 1 else [
            json.loads(self.kept(".%d-of-%d.summary" % (i + 1, shards))) for i in range(shards)]
        return [{"policy": policy, "content": self.content[i], "level": self.level, "command": self.text, "search": self.searched,
                 "gpu_seconds": round(float(self.kept(".seconds")), 1), "gpus": devices_of(shards),
                 "commit": self.flags.commit,
                 "devices": self.kept(".devices").splitlines(), "summary": of_all[i]["summary"],
                 "shards": [{k: part[i][k] for k in ("costs", "executors") if k in part[i]} for part in parts]}
                for i, policy in enumerate(self.policies)]


def said(row):
    summary = row["summary"]
    text = "%s, level %d%s: solved %.0f %%" % (row["policy"], row["level"], ", search" if row["search"] else "",
                                             100 * summary["solved"]["value"])
    if summary["pass_at"] and summary["pass_at"].get("1"):
        text += ", pass@1 %.0f %%" % (100 * summary["pass_at"]["1"]["value"])
    return "%s, %.0f s of a GPU" % (text, row["gpu_seconds"])


def write(found, out):
    write_whole(out, json.dumps(found, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright")
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--policy", action="append", required=True, help="teacher, teacher@N, or NAME=MODEL_FOLDER")
    parser.add_argument("--levels", default="1,2,5,20")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--temperature", type=float, default=0.4, help="of a model's answers, without a search")
    parser.add_argument("--search", help="time of each search, such as 60s")
    parser.add_argument("--search-samples", type=int, default=3, help="of each fragment, at first")
    parser.add_argument("--search-only", action="store_true", help="rows with a search alone")
    parser.add_argument("--twins", action="store_true")
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--suites", type=Path, default=ROOT / "suites", help="folder of levelN.jsonl")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--executors", type=int, default=2, help="at full size few: each keeps a part of the memory")
    parser.add_argument("--gpus", type=int, default=1, help="shards of each command, each on one of them")
    parser.add_argument("--backend", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--commit", default="", help="where there is no git")
    parser.add_argument("--minutes", type=float, default=1e6)
    flags = parser.parse_args()
    begun = time.monotonic()
    flags.runs = flags.runs.resolve()
    flags.suites = flags.suites.resolve()
    flags.runs.mkdir(parents=True, exist_ok=True)
    flags.commit = flags.commit or output_of("git", "rev-parse", "--short", "HEAD")
    tool = Path(flags.kernelwright).resolve()
    found = json.loads(flags.out.read_text()) if flags.out.exists() else {"rows": []}
    folders = {}
    flags.teacher_samples = flags.samples
    for item in flags.policy:
        policy, _, folder = item.partition("=")
        if fewer := re.fullmatch("teacher@([1-9][0-9]*)", item):
            policy, flags.teacher_samples = "teacher", int(fewer[1])
        if policy != "teacher" and not any(Path(folder).glob("*config.json")):
            raise SystemExit("--policy %s: %s is no model's folder" % (item, folder or "nothing"))
        folders[policy] = None if policy == "teacher" else Path(folder).resolve()
    lock = threading.Lock()

    deadline = begun + 60 * flags.minutes

    def work(job, gpu):
        measurement, part = job
        try:
            rows = measurement.shard(part, gpu)
        except Ended:
            print("%s, level %d, shard %d of %d: ended; goes on from its lines" % (
                " and ".join(measurement.policies), measurement.level, part, flags.gpus), flush=True)
            return
        with lock:
            found["rows"] += rows
            write(found, flags.out)
            for row in rows:
                print(said(row), flush=True)

    write(found, flags.out)
    measurements = [Measurement(tool, folders, *job, flags, deadline) for job in wanted_jobs(folders, found, flags)]
    jobs = [(measurement, part + 1) for measurement in measurements for part in range(flags.gpus)]
    share(jobs, flags.gpus, work, lambda: time.monotonic() > deadline)


if __name__ == "__main__":
    main()
