#!/usr/bin/env python3
"""What policies make of the project's suites: alone, and with a search.

    bench/policies.py KERNELWRIGHT --runs FOLDER --out bench/h200/policies.json
                      [--policy teacher] [--policy NAME=MODEL_FOLDER ...] [--levels 1,2,5,20] [--samples 10]
                      [--search 6s] [--twins] [--no-time] [--count N] [--minutes M] [--gpus N]

For each policy and level one row: `kernelwright eval suites/levelN.jsonl --coverage pure`, and with --search another
one, of `eval --search`. Lines of eval are kept in FOLDER, its summary is the row; a row that --out has of the same
command is kept, so that the rest can be measured later. --count: a suite's first N tasks alone; --minutes: nothing is
begun after so many. NAME is what the row calls the model.
"""

import argparse
import json
import subprocess
import threading
import time
from pathlib import Path

from gpus import part_of_host, share

ROOT = Path(__file__).resolve().parent.parent


def output_of(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def device(backend):
    if backend == "cpu":
        return "CPU"
    return output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")


def suite(level, flags):
    """The file, and its name in a command that others can run."""
    path = flags.suites / ("level%d.jsonl" % level)
    name = "%s/%s" % (path.parent.name, path.name)
    if not flags.count:
        return path, name
    part = flags.runs / ("level%d.first%d.jsonl" % (level, flags.count))
    text = "".join(line + "\n" for line in path.read_text().splitlines()[:flags.count])
    if not part.exists() or part.read_text() != text:
        part.write_text(text)
    return part, "(the first %d of %s)" % (flags.count, name)


def command_of(policy, searched, flags):
    words = ["--coverage", "pure", "--backend", flags.backend, "--samples", flags.samples, "--seed", flags.seed,
             "--executors", flags.executors, "--build-timeout", 20, "--trial-timeout", 60]
    words += ["--policy", "teacher"] if policy == "teacher" else [
        "--policy", "local", "--model", "MODEL", "--max-tokens", 6000, "--concurrency", 256]
    if searched:
        words += ["--search", flags.search]
    else:
        words += ["--interval-width", 0.03]
        words += [] if policy == "teacher" else ["--temperature", flags.temperature]
    words += [flag for flag, given in (("--twins", flags.twins), ("--no-time", flags.no_time)) if given]
    return list(map(str, words))


def key_of(policy, level, searched, flags):
    """What says that a row is there already, and its command in words."""
    command = ["kernelwright eval", suite(level, flags)[1], *command_of(policy, searched, flags), "--json"]
    return {"policy": policy, "level": level, "command": " ".join(command)}


def measured(tool, policy, folder, level, searched, flags, gpu):
    path, _ = suite(level, flags)
    words = command_of(policy, searched, flags)
    key = key_of(policy, level, searched, flags)
    out = flags.runs / ("%s-%d%s.jsonl" % (policy.replace("/", "_"), level, "-search" if searched else ""))
    begun = time.monotonic()
    prefix, environment = part_of_host(gpu, flags.gpus)
    with out.open("w") as lines, out.with_suffix(".log").open("w") as log:
        subprocess.run([*prefix, str(tool), "eval", str(path), *(str(folder) if word == "MODEL" else word
                                                                 for word in words), "--json"],
                       cwd=ROOT, stdout=lines, stderr=log, check=True, env=environment)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return {**key, "search": searched, "seconds": round(time.monotonic() - begun, 1), "commit": flags.commit,
            **{k: v for k, v in rows[-1].items() if k in ("summary", "costs", "executors")}}


def said(row):
    summary = row["summary"]
    text = "%s, level %d%s: solved %.0f %%" % (row["policy"], row["level"], ", search" if row["search"] else "",
                                             100 * summary["solved"]["value"])
    if summary["pass_at"] and summary["pass_at"].get("1"):
        text += ", pass@1 %.0f %%" % (100 * summary["pass_at"]["1"]["value"])
    return "%s, %.0f s" % (text, row["seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright")
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--policy", action="append", required=True, help="teacher, or NAME=MODEL_FOLDER")
    parser.add_argument("--levels", default="1,2,5,20")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--temperature", type=float, default=0.4, help="of a model's answers, without a search")
    parser.add_argument("--search", help="time of each search, such as 6s")
    parser.add_argument("--search-only", action="store_true", help="rows with a search alone")
    parser.add_argument("--twins", action="store_true")
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--suites", type=Path, default=ROOT / "suites", help="folder of levelN.jsonl")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--executors", type=int, default=4)
    parser.add_argument("--gpus", type=int, default=1, help="rows that are measured at once, each on one of them")
    parser.add_argument("--backend", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--commit", default="", help="where there is no git")
    parser.add_argument("--minutes", type=float, default=1e9)
    flags = parser.parse_args()
    begun = time.monotonic()
    flags.runs = flags.runs.resolve()
    flags.suites = flags.suites.resolve()
    flags.runs.mkdir(parents=True, exist_ok=True)
    flags.commit = flags.commit or output_of("git", "rev-parse", "--short", "HEAD")
    tool = Path(flags.kernelwright).resolve()
    found = json.loads(flags.out.read_text()) if flags.out.exists() else {"rows": []}
    found["device"] = device(flags.backend)
    modes = [True] if flags.search_only else [False, True] if flags.search else [False]
    wanted = []
    for item in flags.policy:
        policy, _, folder = item.partition("=")
        if policy != "teacher" and not any(Path(folder).glob("*config.json")):
            raise SystemExit("--policy %s: %s is no model's folder" % (item, folder or "nothing"))
        for level in map(int, flags.levels.split(",")):
            for searched in modes:
                key = key_of(policy, level, searched, flags)
                if not any(all(row[k] == v for k, v in key.items()) for row in found["rows"]):
                    wanted.append((policy, Path(folder).resolve(), level, searched))
    lock = threading.Lock()

    def work(job, gpu):
        row = measured(tool, *job, flags, gpu)
        with lock:
            found["rows"].append(row)
            part = flags.out.with_suffix(".part")
            part.write_text(json.dumps(found, indent=1) + "\n")
            part.rename(flags.out)
            print(said(row), flush=True)

    share(wanted, flags.gpus, work, lambda: time.monotonic() - begun > 60 * flags.minutes)


if __name__ == "__main__":
    main()
