"""What of the table the teacher writes: random cases from each operator's documented domain, each a
model file, judged by `kernelwright eval --coverage pure`.

    python tests/operators/teacher_coverage.py --kernelwright build/kernelwright [--backend cuda]
        [--cases 20] [--jobs 4] [--only Conv2d,Sum] [--all] [--out coverage.json] [--keep DIR]

Prints for each of the 61 operators of DRTriton's task generator (CSP-DAG) (with --all: for the others too): cases, how many were
verified, which documented parameters were varied, and the reasons of what was not verified.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests", "operators")]

import torch  # noqa: E402

from operators import CSP, OPERATORS  # noqa: E402
from parity import quiet, run_eager  # noqa: E402


def accepted_cases(operator, count, seed, most=20):
    """`count` calls that PyTorch itself accepts and that give at least one element."""
    cases, index = [], 0
    while len(cases) < count and index < most * count:
        case = operator.case(index, seed, edges=False)
        index += 1
        results, _, complaint = run_eager(case, torch.device("cpu"))
        if complaint is None and results and all(t.numel() for t in results):
            cases.append(case)
    return cases


def file_name(case):
    return "%s_%03d.py" % (re.sub(r"\W+", "_", case.operator).lower(), case.index)


def evaluate(paths, options, take):
    """Runs `kernelwright eval` on shares of `paths`, several at once; `take` gets each result."""
    shares = [paths[i::options.jobs] for i in range(options.jobs)]
    failures = []

    def run(share):
        command = [options.kernelwright, "eval", "--json", "--no-time", "--coverage", "pure",
                   "--samples", str(options.samples), "--trials", "2", "--seed", "1",
                   "--backend", options.backend, *share]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.DEVNULL if not options.verbose else None)
        for line in process.stdout:
            result = json.loads(line)
            if "summary" not in result:  # its last line
                take(result)
        if process.wait():
            failures.append("kernelwright eval ended with %d" % process.returncode)

    threads = [threading.Thread(target=run, args=(share,)) for share in shares if share]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(failures[0])


def why(result):
    """The reason, without what differs from case to case."""
    reason = result["reason"]
    if result["samples"]:
        sample = result["samples"][0]
        reason = "%s: %s" % (sample["rejected_at"] or sample["outcome"], sample["reason"])
    return re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "N", reason)[:110]


def rows_of(operators, cases, results):
    rows = []
    for operator in operators:
        mine = [c for c in cases if c.operator == operator.name]
        got = [results[file_name(c)] for c in mine if file_name(c) in results]
        varied = {p for p in operator.parameters
                  if len({c.parameters.get(p) for c in mine}) > 1}
        verified = sum(r["outcome"] == "verified" for r in got)
        rows.append({
            "operator": operator.name, "cases": len(mine),
            "written": sum(bool(r["samples"]) for r in got), "verified": verified,
            "varied": sorted(varied), "not_varied": sorted(set(operator.parameters) - varied),
            "values": sum(len({c.parameters.get(p) for c in mine}) for p in operator.parameters),
            "dtypes": sorted({i.dtype for c in mine for i in c.inputs}),
            "reasons": dict(collections.Counter(
                "%s: %s" % (r["outcome"], why(r)) for r in got
                if r["outcome"] != "verified").most_common())})
    return rows


def print_table(rows):
    print("%-18s %5s %7s %8s  %-12s %s" % ("operator", "cases", "written", "verified", "parameters",
                                           "not verified because"))
    for row in rows:
        share = "%d of %d" % (len(row["varied"]), len(row["varied"]) + len(row["not_varied"]))
        reasons = ["%dx %s" % (n, text) for text, n in row["reasons"].items()] or [""]
        print("%-18s %5d %7d %8d  %-12s %s" % (row["operator"], row["cases"], row["written"],
                                               row["verified"], share, reasons[0]))
        for reason in reasons[1:3]:
            print(" " * 56 + reason)
    whole = sum(row["cases"] == row["verified"] > 0 for row in rows)
    some = sum(row["verified"] > 0 for row in rows)
    print("%d operators: all cases verified for %d, some for %d; %d of %d cases verified" % (
        len(rows), whole, some, sum(r["verified"] for r in rows), sum(r["cases"] for r in rows)))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelwright", required=True, help="the binary")
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--samples", type=int, default=3, help="proposals for each case, of which "
                        "one must pass: whether PyTorch multiplies in TF32 is its libraries' choice")
    parser.add_argument("--jobs", type=int, default=1, help="eval processes at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only")
    parser.add_argument("--all", action="store_true", help="the operators beyond the 61 too")
    parser.add_argument("--out", help="write the rows there, as JSON")
    parser.add_argument("--keep", help="keep the model files in this folder")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    quiet()
    operators = list(OPERATORS.values()) if options.all else CSP
    if options.only:
        operators = [OPERATORS[name] for name in options.only.split(",")]
    started = time.perf_counter()
    cases = [case for operator in operators
             for case in accepted_cases(operator, options.cases, options.seed)]
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for case in cases:
            with open(os.path.join(folder, file_name(case)), "w") as file:
                file.write(case.source(harness=True))

        def take(result):
            results[os.path.basename(result["model"])] = result
            if options.verbose and result["outcome"] != "verified":
                print(result["outcome"], result["model"], why(result), flush=True)

        evaluate([os.path.join(folder, file_name(c)) for c in cases], options, take)
    rows = rows_of(operators, cases, results)
    print_table(rows)
    print("%d cases on %s, %.0f s" % (len(cases), options.backend, time.perf_counter() - started))
    if options.out:
        with open(options.out, "w") as file:
            json.dump({"backend": options.backend, "cases": len(cases), "operators": rows}, file,
                      indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
