#!/usr/bin/env python3
"""Makes a device's table of schedules from measured ones (docs/schedules.md).

    scripts/fit_schedules.py bench/h200/families.json [MORE.json...] --out schedules/

For each family and shape class: the schedules that were fastest. For each family: a correction of the
teacher's model of time, by ridge regression of log(measured / model) on what each schedule says of
itself, kept only where models that it was not fitted on are ranked better with it.
"""

import argparse
import collections
import json
import pathlib
import sys

import numpy as np

FAST = 1.1  # times the fastest: worth measuring again elsewhere
KEPT = 3  # schedules of a class
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
FEWEST = 4  # models, for a fit
LIMIT = 4.0  # of log(correction): beyond what was measured a linear model may say anything


class Model:
    """The measured schedules of one family on one model."""

    def __init__(self, group, name, samples):
        self.group, self.name = group, name
        self.shape_class = samples[0]["schedule"]["class"]
        self.names = [s["schedule"]["name"] for s in samples]
        self.features = [s["schedule"]["features"] for s in samples]
        self.modelled = np.log([s["schedule"]["model_seconds"] for s in samples])
        self.measured = np.log([1e-3 * s["device_ms"] for s in samples])


def timed(row):
    """Samples whose time is that of their one schedule."""
    return [s for s in row["samples"]
            if s["device_ms"] and s["outcome"] == "accepted" and s["schedule"]["parts"] == 1]


def read(documents):
    """Family -> its models."""
    out = collections.defaultdict(list)
    for document in documents:
        for row in document["models"]:
            by_family = collections.defaultdict(list)
            for sample in timed(row):
                by_family[sample["schedule"]["family"]].append(sample)
            for family, samples in by_family.items():
                out[family].append(Model(row["group"], row["name"], samples))
    return out


def fastest(documents):
    """Family -> shape class -> schedules near the fastest of their model, with their ratio to it."""
    ratios = collections.defaultdict(lambda: collections.defaultdict(dict))
    for document in documents:
        for row in document["models"]:
            samples = timed(row)
            for s in samples:
                ratio = s["device_ms"] / min(t["device_ms"] for t in samples)
                schedule = s["schedule"]
                known = ratios[schedule["family"]][schedule["class"]]
                known.setdefault(schedule["name"], []).append(ratio)
    out = {}
    for family, classes in sorted(ratios.items()):
        out[family] = {}
        for shape_class, names in sorted(classes.items()):
            # What is fast on every model of the class stands before what is fast on one.
            best = sorted((float(np.mean(r)), -len(r), name) for name, r in names.items())
            kept = [{"name": name, "ratio": round(r, 4)} for r, _, name in best if r <= FAST][:KEPT]
            if kept:
                out[family][shape_class] = kept
    return out


def fit(models, penalty):
    """(intercept, {feature: coefficient}). Only differences between schedules of one model count
    for the coefficients: what a whole model is off by goes into the intercept."""
    names = sorted({n for m in models for f in m.features for n in f})
    xs, ys = [], []
    for m in models:
        x = np.array([[f.get(n, 0.0) for n in names] for f in m.features])
        y = m.measured - m.modelled
        # A model counts the same however many of its schedules were measured.
        weight = len(m.names) ** -0.5
        xs.append(weight * (x - x.mean(0)))
        ys.append(weight * (y - y.mean()))
    x, y = np.concatenate(xs), np.concatenate(ys)
    c = np.linalg.solve(x.T @ x + penalty * np.eye(len(names)), x.T @ y)
    coefficients = {n: float(v) for n, v in zip(names, c) if abs(v) > 1e-6}
    offsets = [np.mean(m.measured - m.modelled - linear(m, coefficients)) for m in models]
    return float(np.median(offsets)), coefficients


def linear(model, coefficients):
    return np.array([sum(coefficients.get(n, 0.0) * v for n, v in f.items())
                     for f in model.features])


def corrected(model, intercept, coefficients):
    """log of the corrected estimate of each schedule."""
    return model.modelled + np.clip(intercept + linear(model, coefficients), -LIMIT, LIMIT)


def regret(model, estimate):
    """Time of the schedule with the best estimate over that of the fastest one."""
    return float(np.exp(model.measured[np.argmin(estimate)] - model.measured.min()))


def ranks(values):
    """Ranks from 0, equal values at their mean rank."""
    values = np.asarray(values)
    return np.array([np.mean(np.flatnonzero(np.sort(values) == v)) for v in values])


def correlation(model, estimate):
    """Spearman's rank correlation; None for a model with nothing to rank."""
    if len(model.names) < 3:
        return None
    a, b = ranks(estimate), ranks(model.measured)
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else None


def held_out(models, penalty):
    """Each model's corrected estimates by a fit on the models of other names."""
    out = []
    for m in models:
        intercept, coefficients = fit([o for o in models if o.name != m.name], penalty)
        out.append(corrected(m, intercept, coefficients))
    return out


def summary(models, estimates):
    regrets = [regret(m, e) for m, e in zip(models, estimates)]
    found = [c for c in (correlation(m, e) for m, e in zip(models, estimates)) if c is not None]
    off = [abs(e.mean() - m.measured.mean()) for m, e in zip(models, estimates)]
    return {"regret": round(float(np.exp(np.mean(np.log(regrets)))), 4),
            "worst_regret": round(max(regrets), 3),
            "rank_correlation": round(float(np.mean(found)), 3) if found else None,
            "off_by": round(float(np.exp(np.median(off))), 3)}


def fit_family(models):
    """(correction or None, report)."""
    before = summary(models, [m.modelled for m in models])
    report = {"models": len(models), "schedules": sum(len(m.names) for m in models),
              "before": before}
    if len({m.name for m in models}) < FEWEST:
        return None, report

    # What is wanted is a fast first choice: a penalty that predicts all times better on the whole may
    # choose one that is hopeless.
    tried = {penalty: summary(models, held_out(models, penalty)) for penalty in PENALTIES}
    penalty = min(PENALTIES, key=lambda p: tried[p]["regret"])
    after = tried[penalty]
    report.update({"penalty": penalty, "after": after, "kept": after["regret"] < before["regret"]})
    if not report["kept"]:
        return None, report
    intercept, coefficients = fit(models, penalty)
    return {"intercept": round(intercept, 4), "limit": LIMIT,
            "coefficients": {n: round(v, 4) for n, v in coefficients.items()}}, report


def table_of(documents):
    devices = {d["environment"]["device"] for d in documents}
    if len(devices) != 1:
        raise SystemExit("fit_schedules.py: measured on several devices: %s" % ", ".join(devices))
    correction, reports = {}, {}
    for family, models in sorted(read(documents).items()):
        found, reports[family] = fit_family(models)
        if found:
            correction[family] = found
    return {"format": "kernelwright.schedules", "version": 1, "device": devices.pop(),
            "environments": [d["environment"] for d in documents],
            "commands": [d["command"] for d in documents],
            "fit": reports, "correction": correction, "measured": fastest(documents)}


def print_report(table):
    print("%-12s %6s %9s   %-26s %-26s %s" % ("family", "models", "schedules", "before: regret (worst)",
                                              "held out: regret (worst)", "rank correlation"))

    def cells(part):
        return "%.3f (%.2f)" % (part["regret"], part["worst_regret"])

    for family, r in table["fit"].items():
        after = r.get("after")
        print("%-12s %6d %9d   %-26s %-26s %s -> %s%s" % (
            family, r["models"], r["schedules"], cells(r["before"]), cells(after) if after else "-",
            r["before"]["rank_correlation"], after["rank_correlation"] if after else "-",
            "" if family in table["correction"] else "  (no correction)"))
    print("%d shape classes with measured schedules" % sum(map(len, table["measured"].values())))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", nargs="+", type=pathlib.Path, help="families.json")
    parser.add_argument("--out", type=pathlib.Path, help="folder of tables")
    options = parser.parse_args()
    table = table_of([json.loads(path.read_text()) for path in options.measured])
    print_report(table)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / (table["device"].replace(" ", "_") + ".json")
        path.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")
        print("wrote %s" % path)


if __name__ == "__main__":
    sys.exit(main())
