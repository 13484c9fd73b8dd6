#!/usr/bin/env python3
"""Whether intervals of speedups mean what they say: ten tasks, each timed again by several executors.

    bench/intervals.py KERNELWRIGHT --out intervals.json [--runs 5]

A run is a `verify --batch` of its own, one worker, every round. The interval of each of its verdicts
should contain the median of the task's ratios of all runs together; at 95 % some 2 or 3 of 50 do not.
Then the same for the first N rounds alone: what an interval of so many rounds is worth, and how wide
it is (a bootstrap of the median and what processes differ by, as the verdict's, made here from the
ratios).
"""

import argparse
import json
import pathlib
import random
import re
import statistics
import subprocess
import tempfile

import throughput

PREFIXES = (6, 10, 15, 20, 30, 40, 50)
RESAMPLES = 1000
PROTOCOL = pathlib.Path(__file__).resolve().parent.parent / "src/runtime/protocol.h"
BETWEEN_RUNS = float(re.search(r"kBetweenRuns = ([\d.]+);", PROTOCOL.read_text())[1])


def tasks():
    """Name -> (reference, candidate): of every class, each reference's first candidate."""
    out = {}
    for name, most in (("elementwise_2gb", 3), ("products", 4), ("small", 3)):
        make, _ = throughput.CLASSES[name]
        first = {}
        for reference, candidate in make(6):
            first.setdefault(reference, candidate)
        for i, pair in enumerate(list(first.items())[:most]):
            out["%s %d" % (name, i)] = pair
    return out


def interval(ratios, confidence=0.95):
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios)))
                     for _ in range(RESAMPLES))
    tail = (1 - confidence) / 2
    return (medians[int(tail * RESAMPLES)] / (1 + BETWEEN_RUNS),
            medians[int((1 - tail) * RESAMPLES) - 1] * (1 + BETWEEN_RUNS))


def one_run(tool, backend):
    """Name -> the result of each task, from a batch of its own."""
    with tempfile.TemporaryDirectory() as folder:
        batch, out = pathlib.Path(folder, "batch.jsonl"), pathlib.Path(folder, "results.jsonl")
        batch.write_text("".join(
            json.dumps({"id": name, "reference_text": reference, "candidate_text": candidate}) + "\n"
            for name, (reference, candidate) in tasks().items()))
        subprocess.run([tool, "verify", "--batch", batch, "--out", out, "--backend", backend, "--jobs", "1",
                        "--interval-width", "0"], check=True, stdout=subprocess.DEVNULL)
        results = [json.loads(line) for line in out.read_text().splitlines()]
    for r in results:
        assert r.get("outcome") == "accepted", (r["id"], r.get("reason") or r.get("fault"))
    return {r["id"]: r for r in results}


def summary(runs):
    rows, prefixes = [], {n: {"contain": 0, "of": 0, "widths": []} for n in PREFIXES}
    for name in tasks():
        ratios = [run[name]["ratios"] for run in runs]
        pooled = statistics.median(r for run in ratios for r in run)
        intervals = [run[name]["speedup_eager"] for run in runs]
        rows.append({"task": name, "pooled_median": pooled,
                     "medians": [statistics.median(run) for run in ratios],
                     "rounds": [len(run) for run in ratios],
                     "intervals": [[i["lower"], i["upper"]] for i in intervals],
                     "contain": sum(i["lower"] <= pooled <= i["upper"] for i in intervals)})
        for n, row in prefixes.items():
            for run in ratios:
                if len(run) < n:
                    continue
                lower, upper = interval(run[:n])
                row["contain"] += lower <= pooled <= upper
                row["of"] += 1
                row["widths"].append((upper - lower) / pooled)
    budget = [{"rounds": n, "contain": row["contain"], "of": row["of"],
               "median_width": statistics.median(row["widths"])}
              for n, row in prefixes.items() if row["of"]]
    return {"command": "bench/intervals.py", "contain": sum(row["contain"] for row in rows),
            "of": sum(len(row["intervals"]) for row in rows), "tasks": rows, "by_rounds": budget}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernelwright")
    parser.add_argument("--out", required=True)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    runs = []
    for number in range(arguments.runs):
        runs.append(one_run(arguments.kernelwright, arguments.backend))
        found = summary(runs)
        pathlib.Path(arguments.out).write_text(json.dumps(found, indent=1) + "\n")
        print("run %d: %d of %d intervals contain the pooled median" % (
            number + 1, found["contain"], found["of"]), flush=True)
    for row in found["tasks"]:
        print("%-18s %.4f  %s" % (row["task"], row["pooled_median"], " ".join(
            "%.4f..%.4f" % tuple(i) for i in row["intervals"])))
    for row in found["by_rounds"]:
        print("%3d rounds: %d of %d contain it, median width %.2f %%" % (
            row["rounds"], row["contain"], row["of"], 100 * row["median_width"]))


if __name__ == "__main__":
    main()
