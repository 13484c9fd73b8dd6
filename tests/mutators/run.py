"""Judges every mutant of an optimized.py, and says which survive and why.

    run.py MODEL.py OPTIMIZED.py [--set NAME=INTEGER ...] --results bench/mutants.json
    run.py --results bench/mutants.json          writes the table again

A mutant that is rejected names the stage that caught it. For one that is accepted the recorded
programs are compared: when kernels compile to the same machine code and are launched alike, the
mutation changed nothing. Any other survivor needs a line in equivalent.md that says why it computes
the same. Exit code 0 when no survivor is unexplained and at most 5 % survive.

The table beside the results (.md) is written from all results in the file.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import mutate

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STAGES = ["load", "record", "compile", "coverage", "correct", "time"]
MOST_SURVIVORS = 0.05


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=pathlib.Path, nargs="?")
    parser.add_argument("optimized", type=pathlib.Path, nargs="?")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=INTEGER")
    parser.add_argument("--binary", default=os.environ.get(
        "KERNELWRIGHT_BINARY", str(ROOT / "build" / "kernelwright")))
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--seed", default="1", help="of inputs and parameters")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="a mutator's name, to try")
    parser.add_argument("--every", type=int, default=1, help="judge every n-th mutant only")
    parser.add_argument("--results", type=pathlib.Path, help="JSON file to add the results to")
    args = parser.parse_args()
    if args.model and not args.optimized or not (args.model or args.results):
        parser.error("what is to be judged?")
    return args


class Verifier:
    """`kernelwright verify` on many candidates: one process a batch."""

    def __init__(self, args):
        self.flags = ["--backend", args.backend, "--no-time"]
        self.sizes = [flag for item in args.set for flag in ("--set", item)]
        self.binary, self.model, self.seed = args.binary, str(args.model), args.seed

    def judge(self, original, files, done):
        """Calls done(file, verdict) for each file; the original must pass in the same process."""
        left = list(files)
        while left:
            command = [self.binary, "verify", self.model, str(original), *left, "--json",
                       "--seed", self.seed, *self.flags, *self.sizes]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True)
            verdicts = (json.loads(line) for line in process.stdout)
            first = next(verdicts, None)
            if first is None or first["outcome"] != "accepted":
                sys.exit("%s itself: %s" % (original, process.communicate()[1] or first["reason"]))
            self.environment = first["environment"]
            for verdict in verdicts:
                done(left.pop(0), verdict)
            error = process.communicate()[1].strip()
            if left:  # it broke on this one
                done(left.pop(0), {"outcome": "broken", "rejected_at": None, "reason":
                                   "exit code %d: %s" % (process.returncode, error[-400:])})

    def program(self, file, folder):
        """What a candidate records as, with machine code in place of sources."""
        command = [self.binary, "record", str(file), "--class", "ModelNew", "--out", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
        program = json.loads((folder / "program.json").read_text())
        for kernel in program["kernels"]:
            del kernel["source"]
        return program


def arguments_for_equivalence():
    """Rows of equivalent.md: what `key` makes of a survivor -> why."""
    out = {}
    for line in (HERE / "equivalent.md").read_text().splitlines():
        cells = [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 6 and cells[3].startswith("`"):
            out[(*cells[:3], cells[3].strip("`"), cells[4].strip("`"))] = cells[5]
    return out


def key(entry, row):
    """One mutation of one kernel at one size: what is right about it may be wrong elsewhere."""
    example = " ".join([entry["model"], *entry["set"]])
    return example, row["kernel"], row["mutator"], row["before"], row["after"]


def compare_code(verifier, survivors, original, folder):
    """Adds "equal_code" to each survivor: whether nothing changed by the mutation."""
    if not survivors:
        return
    base = verifier.program(original, folder / "original")
    for i, (row, file) in enumerate(survivors):
        row["equal_code"] = verifier.program(file, folder / ("survivor%d" % i)) == base


def judge_all(args, found):
    """One row for each mutant, and the environment the verdicts name."""
    verifier = Verifier(args)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = {}
        for i, mutant in enumerate(found):
            file = folder / ("mutant%04d.py" % i)
            file.write_text(mutant.text)
            rows[str(file)] = {"mutator": mutant.mutator, "kernel": mutant.kernel,
                               "line": mutant.line, "before": mutant.before, "after": mutant.after}

        def done(file, verdict):
            row = rows[file]
            row.update(outcome=verdict["outcome"], stage=verdict["rejected_at"],
                       reason=verdict["reason"].replace(name + "/", ""))
            count = sum("outcome" in r for r in rows.values())
            print("%4d/%d %-18s %-9s %s" % (count, len(rows), row["mutator"],
                                            row["stage"] or row["outcome"], row["reason"][:100]),
                  file=sys.stderr, flush=True)

        files = list(rows)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for future in [pool.submit(verifier.judge, args.optimized, files[j::args.jobs], done)
                           for j in range(args.jobs)]:
                future.result()
        survivors = [(r, f) for f, r in rows.items() if r["outcome"] == "accepted"]
        compare_code(verifier, survivors, args.optimized, folder)
        return list(rows.values()), verifier.environment


def counts(rows):
    """What became of mutants: a stage's name, accepted, not judged or broken -> how many."""
    return collections.Counter(r["stage"] or r["outcome"] for r in rows)


def explanation(entry, row, known):
    """Why a survivor is no wrong program; empty when that is not known."""
    return "equal compiled code" if row.get("equal_code") else known.get(key(entry, row), "")


def unexplained(entry):
    known = arguments_for_equivalence()
    return [r for r in entry["mutants"]
            if r["outcome"] != "rejected" and not explanation(entry, r, known)]


def table(results):
    """The results as Markdown."""
    entries, known = results["models"], arguments_for_equivalence()
    rows = [r for entry in entries for r in entry["mutants"]]
    total = counts(rows)
    out = ["# Mutants of optimized programs", "",
           "Each line of every kernel and launch that Kernelwright wrote for the examples, with one "
           "small mistake put in (`tests/mutators/mutate.py`), judged by `kernelwright verify`.", "",
           "    bench/mutants.sh", "",
           "%s. %d mutants of %d kernels by %d mutators: %d rejected, %d accepted (%.1f %%), of "
           "which %d have equal compiled code and %d a written argument; %d not judged." % (
               "; ".join("%s %s" % (k, results["environment"][k])
                         for k in ("backend", "torch", "triton") if k in results["environment"]),
               len(rows), len({r["kernel"] for e in entries for r in e["mutants"]
                               if r["kernel"] != "ModelNew"}),
               len({r["mutator"] for r in rows}),
               sum(r["outcome"] == "rejected" for r in rows), total["accepted"],
               100 * total["accepted"] / len(rows),
               sum(bool(r.get("equal_code")) for r in rows),
               sum(r["outcome"] != "rejected" and key(e, r) in known
                   for e in entries for r in e["mutants"]),
               total["not judged"]), ""]
    stages = [s for s in STAGES if total[s]] + [o for o in ("accepted", "not judged", "broken")
                                                if total[o]]
    out += ["| example | sizes | kernels | mutants | " + " | ".join(stages) + " | seconds |",
            "|---|---|" + "---:|" * (len(stages) + 3)]
    for entry in entries:
        n = counts(entry["mutants"])
        out.append("| %s | %s | %d | %d | %s | %d |" % (
            entry["model"], " ".join(entry["set"]),
            len({r["kernel"] for r in entry["mutants"]} - {"ModelNew"}), len(entry["mutants"]),
            " | ".join(str(n[s]) for s in stages), entry["seconds"]))
    out += ["", "| mutator | what it does | mutants | " + " | ".join(stages) + " |",
            "|---|---|" + "---:|" * (len(stages) + 1)]
    for name, what in mutate.mutators():
        own = [r for r in rows if r["mutator"] == name]
        n = counts(own)
        if own:
            out.append("| %s | %s | %d | %s |" % (name, what.replace("|", "\\|"), len(own),
                                                  " | ".join(str(n[s]) for s in stages)))
    out += ["", "## Survivors", ""]
    for entry in entries:
        for r in entry["mutants"]:
            if r["outcome"] != "rejected":
                out += ["- %s, `%s`, line %d, %s: `%s` became `%s`. %s." % (
                    entry["model"], r["kernel"], r["line"], r["mutator"], r["before"], r["after"],
                    (explanation(entry, r, known) or "**Unexplained** (%s) %s" % (
                        r["outcome"], r["reason"])).rstrip("."))]
    return "\n".join(out) + "\n"


def save(path, entry, environment):
    results = {"environment": {}, "models": []}
    if path.exists():
        results = json.loads(path.read_text())
    results["environment"] = environment
    results["models"] = sorted(
        [m for m in results["models"] if (m["model"], m["set"]) != (entry["model"], entry["set"])]
        + [entry], key=lambda m: (m["model"], m["set"]))
    text = json.dumps(results, indent=1)
    # A mutant a line.
    text = re.sub(r'\{\s+"mutator".*?\}', lambda m: re.sub(r"\n\s+", " ", m.group()), text, flags=re.S)
    path.write_text(text + "\n")
    path.with_suffix(".md").write_text(table(results))


def main():
    args = parse_arguments()
    if not args.model:
        args.results.with_suffix(".md").write_text(table(json.loads(args.results.read_text())))
        return 0
    found = [m for m in mutate.mutants(args.optimized.read_text())
             if not args.only or m.mutator == args.only][::args.every]
    start = time.monotonic()
    rows, environment = judge_all(args, found)
    entry = {"model": args.model.name, "set": args.set, "seconds": round(time.monotonic() - start),
             "mutants": rows}
    if args.results:
        save(args.results, entry, environment)
    survived = sum(r["outcome"] == "accepted" for r in rows)
    print("%s: %d mutants, %s" % (args.model.name, len(rows), dict(counts(rows))))
    for r in unexplained(entry):
        print("  unexplained: %s %s:%d %s\n    - %s\n    + %s\n    %s" % (
            r["mutator"], r["kernel"], r["line"], r["outcome"], r["before"], r["after"],
            r["reason"]))
    return 1 if unexplained(entry) or survived > MOST_SURVIVORS * len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
