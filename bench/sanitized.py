#!/usr/bin/env python3
"""What compute-sanitizer found in the labelled cases.

    bench/sanitized.py SELFTEST.jsonl... --out bench/h200/sanitized.json

The files are what `kernelwright selftest --sanitize --json` printed. Each accepted program ran once: honest candidates,
twins of wrong programs, and wrong programs as they are judged without the checks that catch them.
"""

import argparse
import json
import pathlib
import statistics

PROGRAMS = {"candidate": "right", "twin": "right", "unchecked": "wrong"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="lines of self-tests")
    parser.add_argument("--commit", default="", help="what the result names")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="file to write, as JSON")
    args = parser.parse_args()
    rows = [json.loads(line) for path in args.files for line in path.read_text().splitlines()]
    runs, found, faults, seconds = {"right": 0, "wrong": 0}, [], [], []
    for row in sorted(rows, key=lambda row: row["case"]):
        for program, label in PROGRAMS.items():
            report = row.get(program, {}).get("sanitizer")
            if report is None:
                continue
            runs[label] += 1
            seconds.append(report["seconds"])
            where = {"case": row["case"], "program": program, "label": label}
            if "fault" in report:
                faults.append({**where, "fault": report["fault"]})
            for finding in report["findings"] + report["noted"]:
                found.append({**where, **finding, "rejects": finding in report["findings"]})
    result = {"command": "bench/gpu.sh sanitize", "commit": args.commit, "cases": len(rows), "runs": runs,
              "surprises": [{"case": row["case"], "surprise": row["surprise"]} for row in rows if row["surprise"]],
              "findings": found, "faults": faults,
              "seconds": {"median": statistics.median(seconds), "mean": statistics.mean(seconds), "most": max(seconds)}}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print("%d right and %d wrong programs ran, %d findings, %d did not run to the end" % (
        runs["right"], runs["wrong"], len(found), len(faults)))


if __name__ == "__main__":
    main()
