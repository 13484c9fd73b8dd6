"""Models on the same tasks: what eval --json found, and how far two of them are apart."""

import json
import random
import statistics

RESAMPLES = 10000


def answers_of(path):
    """The share of each task's judged answers that is right, by its file (None: not judged), and the summary."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    if not rows or "summary" not in rows[-1]:
        raise SystemExit("%s: has no summary: it was ended before its end" % path)
    found = {}
    for row in rows:
        if "model" not in row:
            continue
        judged = [sample["outcome"] == "accepted" for sample in row["samples"] if sample["outcome"] != "not judged"]
        if row["outcome"] == "refused":
            judged = [False]  # no answer is no right one
        found[row["model"]] = statistics.fmean(judged) if judged else None
    return found, rows[-1]["summary"]


def differences_of(before, after):
    """By task, of those that both were judged on."""
    return {task: after[task] - before[task] for task in before
            if before[task] is not None and after.get(task) is not None}


def interval(differences):
    """Of their mean, 95 %: percentiles of the means of resampled tasks (Efron, Tibshirani 1993, section 13.3)."""
    numbers = random.Random(1)
    means = sorted(statistics.fmean(numbers.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    return [means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]]
