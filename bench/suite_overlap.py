#!/usr/bin/env python3
"""Which tasks of level 1's suite, or their twins, are among the programs that training draws from.

    bench/suite_overlap.py KERNELWRIGHT [--count N]

Programs of one operator are in every split. Draws the first N (150,000) of the embedded model's six seeds in both of
its windows, without hygiene as training does, and compares whole model files.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEEDS = "2026", "2027", "2028", "2030", "2036", "2037"
WINDOWS = "2^34:2^35", "2^24:2^28"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright")
    parser.add_argument("--count", type=int, default=150000)
    flags = parser.parse_args()
    suite = {}
    for line in (ROOT / "suites/level1.jsonl").open():
        row = json.loads(line)
        suite[row["model"]] = suite[row["twin"]["model"]] = row["id"]
    found = set()
    for seed in SEEDS:
        for window in WINDOWS:
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "rows.jsonl"
                subprocess.run([flags.kernelwright, "synth", "--level", "1", "--count", str(flags.count), "--seed",
                                seed, "--window", window, "--no-hygiene", "--out", out], check=True,
                               stderr=subprocess.DEVNULL)
                with out.open() as rows:
                    for line in rows:
                        row = json.loads(line)
                        if row["model"] in suite:
                            found.add((suite[row["model"]], seed))
    for task, seed in sorted(found):
        print("%s is among the programs of seed %s" % (task, seed))
    print("%d of %d programs" % (len(found), len(SEEDS) * len(WINDOWS) * flags.count))


if __name__ == "__main__":
    main()
