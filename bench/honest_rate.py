#!/usr/bin/env python3
"""How often a right candidate is rejected: honest cases judged at many seeds.

    bench/honest_rate.py build/kernelwright --seeds 20 --out bench/cpu/honest_rate.json

Other seeds are other inputs, weights, orders of programs and contents of fresh memory. Cases are those of
tests/corpora/honest, or of the files and folders that are given. Progress is a line for each seed. A run that
was ended goes on where it was, as long as what judges cases is the same (tests/corpora_record.py).
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import corpora_record  # noqa: E402


def judged(tool, seed, part, parts, backend, cases):
    """The lines of a self-test of one part of the cases at one seed."""
    done = subprocess.run([tool, "selftest", *map(str, cases), "--seed", str(seed), "--json", "--backend",
                           backend, "--part", str(part), "--parts", str(parts)],
                          capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit("selftest --seed %d ended with %d: %s" % (seed, done.returncode, done.stderr.strip()))
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tool", help="the kernelwright program")
    parser.add_argument("--seeds", type=int, default=20, help="how many seeds (default: %(default)s)")
    parser.add_argument("--backend", default="auto", help="cpu, cuda or auto (default)")
    parser.add_argument("--parts", type=int, default=2, help="self-tests at once (default: %(default)s)")
    parser.add_argument("--commit", default="", help="what the result names")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="file to write, as JSON")
    parser.add_argument("cases", nargs="*", type=pathlib.Path, default=[ROOT / "tests/corpora/honest"],
                        help="files and folders of cases (default: tests/corpora/honest)")
    args = parser.parse_intermixed_args()
    same = {"backend": args.backend, "judges": corpora_record.fingerprint(),
            "cases": [str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name) for path in args.cases]}
    before = json.loads(args.out.read_text()) if args.out.exists() else {}
    if any(before.get(key) != value for key, value in same.items()):
        before = {}
    outcomes, rejections = collections.Counter(before.get("outcomes", {})), before.get("rejections", [])
    for seed in range(before.get("seeds", 0) + 1, args.seeds + 1):
        with concurrent.futures.ThreadPoolExecutor(args.parts) as pool:
            runs = list(pool.map(lambda part: judged(args.tool, seed, part, args.parts, args.backend,
                                                     args.cases), range(1, args.parts + 1)))
        for line in (line for run in runs for line in run if line["label"] == "honest"):
            verdict = line["candidate"]
            outcomes[verdict["outcome"]] += 1
            if verdict["outcome"] == "rejected":
                rejections.append({"case": pathlib.Path(line["case"]).stem, "seed": seed,
                                   "stage": verdict["rejected_at"], "reason": verdict["reason"]})
        print("seed %d: %s" % (seed, dict(outcomes)), flush=True)
        args.out.write_text(json.dumps({
            "command": "bench/honest_rate.py --seeds %d" % seed, **same, "commit": args.commit, "seeds": seed,
            "outcomes": outcomes, "rejections": rejections}, indent=1) + "\n")
    for row in rejections:
        print("%(case)s at seed %(seed)d: %(stage)s: %(reason)s" % row)


if __name__ == "__main__":
    main()
