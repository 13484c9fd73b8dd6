#!/usr/bin/env python3
"""What reinforcement learning adds in the smoke test, on a CPU: pass@1 before and after it, seed by seed.

    bench/smoke.py KERNELWRIGHT --runs FOLDER --out bench/cpu/smoke.json [--seeds 1,2,3] [--tasks 400]
                   [--set KEY=VALUE ...]

For each seed: recipes/smoke-sft.toml, recipes/smoke-rl.toml from where that ended (its own seed is 100 more,
so that its programs are others), then both models asked about the same held-out tasks, one answer each at the
temperature that reinforcement learning samples at, with the same random numbers, and judged as it judges, by
Triton's interpreter. Held-out tasks are of the recipes' operators and window and drawn from a seed of their
own; those whose text is one of the programs that any of the runs can have drawn are left out. What FOLDER
has of a seed is kept: killed, the same command goes on. --set: settings of smoke-rl.toml, with a FOLDER of their own.

The interval of a difference is a paired bootstrap over tasks; that of all seeds is over tasks too, of the mean
over seeds.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import time
from pathlib import Path

from files import digest, write_whole
from held_out import held_out
from paired import answers_of, differences_of, interval
from recipe_runs import RL_SEED, ROOT, evaluation, newest_model, recipe, settings_of, table

RECIPES = {kind: recipe("smoke", kind) for kind in ("sft", "rl")}


def of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(command, log):
    """Seconds, by the clock and of all cores together."""
    start, used = time.monotonic(), of_children()
    with open(log, "a") as file:
        subprocess.run(list(map(str, command)), cwd=ROOT, stdout=file, stderr=file, check=True)
    return [time.monotonic() - start, of_children() - used]


class Phases:
    """What each phase of a seed took, of all attempts that came to its end."""

    def __init__(self, path):
        self.path = path
        self.seconds = json.loads(path.read_text()) if path.exists() else {}

    def add(self, phase, command, log):
        before = self.seconds.get(phase, [0, 0])
        self.seconds[phase] = [a + b for a, b in zip(before, timed(command, log))]
        self.path.write_text(json.dumps(self.seconds))


def evaluate(tool, tasks, model, rl, out, phases, phase):
    """Whether each task was solved, by its file (None: not judged), and eval's summary."""
    if not out.exists():
        part = out.with_suffix(".part")
        part.unlink(missing_ok=True)
        command = [tool, *evaluation(tasks, model, rl, "cpu")]
        phases.add(phase, ["sh", "-c", '"$@" > "$0"', part, *command], out.with_suffix(".log"))
        part.rename(out)
    return answers_of(out)


def learn(tool, seed, folder, phases, settings):
    """Folders of the models before and after reinforcement learning. A run that is done ends at once."""
    models = []
    for kind, own in (("sft", seed), ("rl", seed + RL_SEED)):
        run = folder / kind
        command = [tool, "train", RECIPES[kind], "--out", run, "--set", "run.seed=%d" % own]
        if kind == "rl":
            for setting in ("model.init=%s" % models[0], *settings):
                command += ["--set", setting]
        phases.add(kind, command, folder / (kind + ".log"))
        models.append(newest_model(run))
    return models


def check_same(runs, conditions):
    """What the folder has is of these recipes and settings, or of none."""
    path = runs / "conditions.json"
    if path.exists() and json.loads(path.read_text()) != conditions:
        raise SystemExit("%s has runs of other recipes, settings or tasks: give --runs a folder of its own" % runs)
    write_whole(path, json.dumps(conditions, indent=1) + "\n")


def curve(log):
    """Rewards by step, in fives."""
    rewards = [row["reward"] for row in map(json.loads, log.read_text().splitlines()) if row["part"] == "rl"]
    return [round(statistics.fmean(rewards[i:i + 5]), 3) for i in range(0, len(rewards), 5)]


def one_seed(tool, seed, folder, tasks, settings):
    folder.mkdir(parents=True, exist_ok=True)
    phases = Phases(folder / "seconds.json")
    models = learn(tool, seed, folder, phases, settings)
    rl = settings_of(tool, RECIPES["rl"], settings)
    answers, reasons = [], []
    for when, model in zip(("before", "after"), models):
        found, summary = evaluate(tool, tasks, model, rl, folder / (when + ".jsonl"), phases,
                                  "evaluation " + when)
        answers.append(found)
        reasons.append(summary["reasons"])
    differences = differences_of(*answers)
    both = list(differences)
    row = {"seed": seed, "tasks": len(both), "not_judged": len(answers[0]) - len(both),
           "before": statistics.fmean(answers[0][model] for model in both),
           "after": statistics.fmean(answers[1][model] for model in both),
           "difference": statistics.fmean(differences.values()), "interval": interval(list(differences.values())),
           "gained": sum(d > 0 for d in differences.values()), "lost": sum(d < 0 for d in differences.values()),
           "rejected_before": reasons[0], "rejected_after": reasons[1],
           "rewards_by_five_steps": curve(folder / "rl" / "log.jsonl"),
           "seconds": {phase: round(clock, 1) for phase, (clock, _) in phases.seconds.items()},
           "cpu_seconds": {phase: round(cores, 1) for phase, (_, cores) in phases.seconds.items()}}
    return row, differences


def versions(tool):
    def said(*command):
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout

    doctor = said(tool, "doctor", "--backend", "cpu")
    worker = [line.split(": ", 1)[1] for line in doctor.splitlines() if "python worker" in line]
    return {"kernelwright": said(tool, "--version").strip(), "revision": said("git", "rev-parse", "HEAD").strip(),
            "worker": "".join(worker)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright")
    parser.add_argument("--runs", type=Path, required=True, help="folder of runs and answers, kept")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--tasks", type=int, default=400)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    flags = parser.parse_args()
    seeds = [int(seed) for seed in flags.seeds.split(",")]
    tool, runs = Path(flags.kernelwright).resolve(), flags.runs.resolve()
    runs.mkdir(parents=True, exist_ok=True)
    rl = settings_of(tool, RECIPES["rl"], flags.set)
    tasks, left_out = held_out(tool, table(rl, "data"), [own for seed in seeds for own in (seed, seed + RL_SEED)], flags.tasks, runs)
    check_same(runs, {"recipes": digest(*RECIPES.values()), "set": flags.set, "tasks": digest(tasks)})
    words = ["bench/smoke.py", "build/kernelwright", "--runs", "runs/smoke", "--out", "bench/cpu/" + flags.out.name,
             "--seeds", flags.seeds, "--tasks", str(flags.tasks)]
    found = {"command": " ".join(words + ["--set " + setting for setting in flags.set]),
             "versions": versions(tool), "cores": os.cpu_count(),
             "threads_of_torch": os.environ.get("OMP_NUM_THREADS"),
             "temperature": rl["rl.temperature"],
             "held_out": flags.tasks, "left_out_as_seen": left_out, "seeds": []}
    all_differences = []
    for seed in seeds:
        row, differences = one_seed(tool, seed, runs / str(seed), tasks, flags.set)
        found["seeds"].append(row)
        all_differences.append(differences)
        common = set.intersection(*map(set, all_differences))
        means = [statistics.fmean(d[model] for d in all_differences) for model in sorted(common)]
        found["all"] = {"seeds": len(all_differences), "tasks": len(common), "difference": statistics.fmean(means),
                        "interval": interval(means), "least": min(r["difference"] for r in found["seeds"])}
        flags.out.write_text(json.dumps(found, indent=1) + "\n")
        print("seed %d: pass@1 %.1f %% before, %.1f %% after, %+.1f points (%+.1f to %+.1f), %s" % (
            seed, 100 * row["before"], 100 * row["after"], 100 * row["difference"],
            *(100 * x for x in row["interval"]), row["seconds"]), flush=True)


if __name__ == "__main__":
    main()
