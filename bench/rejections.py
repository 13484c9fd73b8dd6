#!/usr/bin/env python3
"""What samples were rejected for, counted: from lines that `kernelwright eval --lines` left.

    bench/rejections.py LINES... --out FILE [--commit C] [--most N]

For each file and policy the reasons, numbers and names that have numbers as #, with how many samples had them; rare
ones are one number. Reasons of at most ten samples are listed, with their models.
"""

import argparse
import collections
import json
import re
from pathlib import Path

from whole_file import write_whole


def kind(sample):
    """Without names and numbers; the rest of a long one is left out."""
    reason = re.sub(r"'[A-Za-z_]\w*'", "'#'", sample["reason"])
    return "%s: %s" % (sample["rejected_at"], re.sub(r"[0-9.]+e[-+][0-9]+|[A-Za-z_]*[0-9][\w.]*", "#", reason)[:100])


def row(policy, lines, most):
    rejected = [(line["model"], sample) for line in lines for sample in line["samples"] if sample["outcome"] == "rejected"]
    kinds = collections.Counter(kind(sample) for _, sample in rejected).most_common()
    out = {"policy": policy, "tasks": len(lines), "samples": sum(len(line["samples"]) for line in lines),
           "rejected": len(rejected), "reasons": dict(kinds[:most]), "others": sum(count for _, count in kinds[most:])}
    if len(rejected) <= 10:
        out["list"] = [{"model": model, "reason": sample["reason"]} for model, sample in sorted(rejected, key=str)]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--commit", default="")
    parser.add_argument("--most", type=int, default=12, help="reasons of each that are told apart")
    flags = parser.parse_args()
    found = []
    for path in flags.lines:
        first, *lines = map(json.loads, path.read_text().splitlines())
        suite = " ".join(first["eval"]["flags"]["model"])
        # A model that could not be judged has another line once it was: the last one counts.
        last = {(line.get("label", ""), line["model"]): line for line in lines}
        for label in sorted({label for label, _ in last}):
            own = [line for (own, _), line in last.items() if own == label]
            found.append({"suite": suite, **row(label, own, flags.most)})
    write_whole(flags.out, json.dumps({"command": "bench/rejections.py, of the lines of bench/policies.py",
                                       "commit": flags.commit, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
