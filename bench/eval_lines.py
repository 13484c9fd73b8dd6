#!/usr/bin/env python3
"""What samples were rejected for, and what the executors' seconds went into: from lines of `kernelwright eval --lines`.

    bench/eval_lines.py LINES... --out FILE [--commit C] [--most N] [--models-of OTHER_LINES]

For each file and policy the reasons, numbers and names that have numbers as #, with how many samples had them; rare
ones are one number. Reasons of at most ten samples are listed, with their models. For each file, of all policies, the
seconds by phase, and the three models that took most. --models-of: of the models alone that another file has.
"""

import argparse
import collections
import json
import re
from pathlib import Path

from files import write_whole


def kind(sample):
    """Without names and numbers; the rest of a long one is left out."""
    reason = re.sub(r"'[A-Za-z_]\w*'", "'#'", sample["reason"])
    return "%s: %s" % (sample["rejected_at"], re.sub(r"[0-9.]+e[-+][0-9]+|[A-Za-z_]*[0-9][\w.]*", "#", reason)[:100])


def seconds(lines):
    """Of all lines, and by model."""
    phases, models = collections.Counter(), collections.Counter()
    for line in lines:
        phases.update(line["phases"])
        models[line["model"]] += sum(line["phases"].values())
    rounded = {phase: round(phases[phase], 1) for phase in sorted(phases)}
    return {"phases": rounded, "all": round(sum(phases.values()), 1),
            "most": {model: round(each, 1) for model, each in models.most_common(3)}}


def lines_of(path):
    """What was asked, and the lines. A model that could not be judged has another one once it was: the last counts."""
    first, *lines = map(json.loads, path.read_text().splitlines())
    return first["eval"], list({(line.get("label", ""), line["model"]): line for line in lines}.values())


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
    parser.add_argument("--models-of", type=Path, metavar="OTHER_LINES")
    flags = parser.parse_args()
    wanted = flags.models_of and {line["model"] for line in lines_of(flags.models_of)[1]}
    found, spent = [], []
    for path in flags.lines:
        asked, lines = lines_of(path)
        suite = " ".join(asked["flags"]["suite"])
        how = {"search": asked["flags"]["--search"][0]} if "--search" in asked["flags"] else {}
        lines = [line for line in lines if not wanted or line["model"] in wanted]
        for label in sorted({line.get("label", "") for line in lines}):
            own = [line for line in lines if line.get("label", "") == label]
            policy = label or " ".join(asked["flags"].get("--model", asked["flags"]["--policy"]))
            found.append({"suite": suite, **how, **row(policy, own, flags.most)})
        spent.append({"suite": suite, **how, "models": len({line["model"] for line in lines}), **seconds(lines)})
    write_whole(flags.out, json.dumps({"command": "bench/eval_lines.py, of the lines of bench/policies.py",
                                       "commit": flags.commit, "seconds": spent, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
