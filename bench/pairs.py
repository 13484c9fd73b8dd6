#!/usr/bin/env python3
"""Whether the teacher's pairs are right: programs at random, judged by all GPUs of a host.

    bench/pairs.py TRAIN_PAIRS --out bench/h200/pairs_random.json [--gpus N] [--programs 1300] [--minutes M] -- FLAGS

Programs 0 to N - 1 of a seed are cut into pieces of so many as --piece says; each is `train_pairs FLAGS --first F
--count PIECE --check ... --report FILE`. What pieces found is added up in --out as they end; the same command goes on
with those that it does not have. --minutes: none is begun after so many.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from gpus import part_of_host, share
from files import write_whole

SUMS = ("right", "wrong", "not_judged", "unfair", "skipped")


def add(found, piece, programs):
    found["programs"] += programs
    for key in SUMS:
        found[key] += piece[key]
    for why, times in piece["why_not_judged"].items():
        found["why_not_judged"][why] = found["why_not_judged"].get(why, 0) + times
    found["failures"] += piece["failures"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train_pairs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--programs", type=int, default=1300)
    parser.add_argument("--piece", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--commit", default="", help="where there is no git")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    flags, judged = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1:]  # FLAGS look like options of ours
    flags.out.parent.mkdir(parents=True, exist_ok=True)
    begun, lock = time.monotonic(), threading.Lock()
    same = {"command": " ".join(["train_pairs", *judged]), "commit": flags.commit, "gpus": flags.gpus,
            "piece": flags.piece}
    found = json.loads(flags.out.read_text()) if flags.out.exists() else {
        **same, "seconds": 0, "programs": 0, **dict.fromkeys(SUMS, 0), "why_not_judged": {}, "failures": [], "pieces": []}
    if any(found[key] != value for key, value in same.items()):
        raise SystemExit("%s is of another command: %s" % (flags.out, {key: found[key] for key in same}))
    before = found["seconds"]

    def work(first, gpu):
        count = min(flags.piece, flags.programs - first)
        report = flags.out.with_suffix(".%d.json" % first)
        prefix, environment = part_of_host(gpu, flags.gpus)
        code = subprocess.run(
            [*prefix, flags.train_pairs.resolve(), *judged, "--first", str(first), "--count", str(count),
             "--batch", str(count), "--report", report], env=environment, stderr=subprocess.PIPE, text=True, check=False)
        if code.returncode not in (0, 1, 4) or not report.exists():
            raise SystemExit("programs from %d: %s" % (first, code.stderr[-2000:]))
        with lock:
            add(found, json.loads(report.read_text()), count)
            found["pieces"].append(first)
            found["seconds"] = round(before + time.monotonic() - begun, 1)
            write_whole(flags.out, json.dumps(found, indent=1) + "\n")
            print("%d programs: %d right, %d wrong, %d not judged, %.0f s" % (
                found["programs"], found["right"], found["wrong"], found["not_judged"], found["seconds"]), flush=True)
        report.unlink()

    left = [first for first in range(0, flags.programs, flags.piece) if first not in found["pieces"]]
    share(left, flags.gpus, work, lambda: time.monotonic() - begun > 60 * flags.minutes)
    raise SystemExit(1 if found["wrong"] else 4 if found["not_judged"] or not found["right"] else 0)


if __name__ == "__main__":
    main()
