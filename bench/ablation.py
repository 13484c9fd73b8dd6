#!/usr/bin/env python3
"""What objectives of reinforcement learning make of one model: each from the same start, with the same prompts,
as many answers, verdicts and tokens at most.

    bench/ablation.py KERNELWRIGHT --runs FOLDER --out bench/h200/ablation.json [--seeds 1,2,3]
                      [--objectives grpo,hierarchical,drpo,rejection] [--tasks 500] [--minutes 9] [--side-by-side N]
    bench/ablation.py KERNELWRIGHT --recipe smoke --device cpu --runs FOLDER --out bench/cpu/ablation.json ...

recipes/ablation-sft.toml trains the model that all begin with, on single operators. Then, seed by seed, each
objective has a run of recipes/ablation-rl.toml, and its model is asked about the same held-out tasks, small twins
of the operators that it learned: one answer each at the temperature that reinforcement learning samples at, with the
same random numbers. A run's seed draws its prompts, so that all objectives see the same. Runs that --out has are
kept, and the same command goes on with the others (with the same seeds: tasks that any of them draws are left out); --minutes: nothing is begun after so many. --side-by-side: so many
runs at the same time, each on a GPU and a part of the cores of its own. --recipe: the two recipes' name.

Intervals are paired bootstraps over tasks (bench/paired.py): of a run against the model that it began with, and
of an objective against grpo, of the means over the seeds that both have.
"""

import argparse
import json
import statistics
import subprocess
import threading
import time
from pathlib import Path

from files import digest, write_whole
from gpus import part_of_host, share
from held_out import held_out
from paired import answers_of, differences_of, interval
from recipe_runs import RL_SEED, ROOT, evaluation, newest_model, recipe, settings_of, table

START_SEED = 1
BASE = "grpo"


class Machine:
    """Runs the program's commands; output goes to a log."""

    def __init__(self, tool, flags):
        self.tool, self.runs, self.device, self.overrides = tool, flags.runs, flags.device, flags.set or []
        self.parts = flags.side_by_side
        self.own = threading.local()  # .part of the host that this thread's commands have, where there are several
        self.recipes = {kind: recipe(flags.recipe, kind) for kind in ("sft", "rl")}
        self.rl = settings_of(tool, self.recipes["rl"],
                              [item[3:] for item in self.overrides if item.startswith("rl:")])

    def command(self, *words, out=None):
        prefix, environment = part_of_host(self.own.part, self.parts) if hasattr(self.own, "part") else ([], None)
        with (self.runs / "log.txt").open("a") as log, (out or Path("/dev/null")).open("w") as file:
            subprocess.run(list(map(str, [*prefix, self.tool, *words])), cwd=ROOT, stdout=file, stderr=log,
                           env=environment, check=True)

    def settings(self, kind, **own):
        """--set of a recipe, with those of the command line that it has."""
        settings = {"run.device": self.device, **{key.replace("__", "."): value for key, value in own.items()}}
        for item in self.overrides:
            key, value = item.split("=", 1)
            if key.startswith(kind + ":"):
                settings[key[len(kind) + 1:]] = value
        return [word for key, value in settings.items() for word in ("--set", "%s=%s" % (key, value))]

    def trained(self, kind, run, **own):
        """The newest model of a run, trained to its end."""
        self.command("train", self.recipes[kind], "--out", run, *self.settings(kind, **own))
        return newest_model(run)

    def evaluated(self, tasks, model, name):
        """The share of each task's answers that is right, and the summary."""
        out = self.runs / (name + ".jsonl")
        self.command(*evaluation(tasks, model, self.rl, self.device), out=out)
        return answers_of(out)


def outcome(name, found, summary):
    judged = [right for right in found.values() if right is not None]
    return {"name": name, "tasks": len(judged), "pass": statistics.fmean(judged), "rejected": summary["reasons"],
            "right": {task: right for task, right in found.items()}}


def of_log(path):
    """What a run did, in sums over its steps."""
    steps = [row for row in map(json.loads, path.read_text().splitlines()) if row["part"] == "rl"]
    total = {key: sum(row.get(key, 0) for row in steps)
             for key in ("answers", "distinct", "not_judged", "cut_off", "tokens", "updates", "seconds", "generate_seconds",
                         "judge_seconds", "build_seconds", "executor_seconds", "executor_restarts", "update_seconds")}
    rewards = [row["reward"] for row in steps]
    return {"steps": len(steps), **total,
            "rewards_by_five_steps": [round(statistics.fmean(rewards[i:i + 5]), 3) for i in range(0, len(rewards), 5)],
            "kl": statistics.fmean(row["kl"] for row in steps), "drift": statistics.fmean(row["drift"] for row in steps)}


def compare(found):
    """Each run against its start, each objective against the base."""
    start = found["start"]["right"]
    objectives = {}
    for run in found["runs"]:
        differences = differences_of(start, run["right"])
        run["difference"] = statistics.fmean(differences.values())
        run["interval"] = interval(list(differences.values()))
        objectives.setdefault(run["objective"], {})[run["seed"]] = run
    found["objectives"] = {}
    for objective, runs in objectives.items():
        row = {"seeds": sorted(runs), "pass": [runs[seed]["pass"] for seed in sorted(runs)],
               "mean": statistics.fmean(run["pass"] for run in runs.values())}
        common = sorted(set(runs) & set(objectives.get(BASE, {})))
        if objective != BASE and common:
            by_seed = [differences_of(objectives[BASE][seed]["right"], runs[seed]["right"]) for seed in common]
            tasks = set.intersection(*map(set, by_seed))
            means = [statistics.fmean(each[task] for each in by_seed) for task in sorted(tasks)]
            row["against_" + BASE] = {"seeds": common, "difference": statistics.fmean(means),
                                      "interval": interval(means)}
        found["objectives"][objective] = row


def write(found, path):
    compare(found)
    write_whole(path, json.dumps(found, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright")
    parser.add_argument("--runs", type=Path, required=True, help="folder of runs and answers, kept")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="a model folder to begin with, in place of training one: on "
                                                   "another machine that of the first call, FOLDER/sft/checkpoint-*/model")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--objectives", default="grpo,hierarchical,drpo,rejection")
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--side-by-side", type=int, default=1)
    parser.add_argument("--commit", default="", help="where there is no git")
    parser.add_argument("--recipe", choices=["ablation", "smoke"], default="ablation")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--set", action="append", metavar="sft:KEY=VALUE or rl:KEY=VALUE",
                        help="a setting of a recipe, for small machines")
    flags = parser.parse_args()
    begun = time.monotonic()
    flags.runs = flags.runs.resolve()
    flags.start = flags.start and flags.start.resolve()
    flags.runs.mkdir(parents=True, exist_ok=True)
    machine = Machine(Path(flags.kernelwright).resolve(), flags)
    found = json.loads(flags.out.read_text()) if flags.out.exists() else {
        "command": " ".join([
            "bench/ablation.py build/kernelwright --runs runs/ablation --out", str(flags.out), "--recipe", flags.recipe,
            "--device", flags.device, "--tasks", str(flags.tasks), "--seeds", flags.seeds, *("--set " + item for item in flags.set or [])]),
        "runs": []}
    start = flags.start or machine.trained("sft", flags.runs / "sft", run__seed=START_SEED)
    seeds = [int(seed) for seed in flags.seeds.split(",")]
    tasks, left_out = held_out(machine.tool, table(machine.rl, "data"), [START_SEED, *(seed + RL_SEED for seed in seeds)],
                               flags.tasks, flags.runs, flags.device)
    commit = flags.commit or subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT,
                                            capture_output=True, text=True).stdout.strip()
    same = {"recipe": flags.recipe, "recipes": digest(*machine.recipes.values()), "start": digest(*start.glob("*.safetensors")),
            "tasks": flags.tasks, "held_out": digest(tasks), "left_out_as_seen": left_out, "set": flags.set or [], "device": flags.device}
    if found.setdefault("conditions", same) != same:
        raise SystemExit("%s was begun with %s, and now there is %s; give the start (--start) and the seeds of then"
                         % (flags.out, found["conditions"], same))
    if "start" not in found:
        found["start"] = outcome("start", *machine.evaluated(tasks, start, "start"))
        write(found, flags.out)
        print("start: pass@1 %.1f %%" % (100 * found["start"]["pass"]), flush=True)
    done = {(run["objective"], run["seed"]) for run in found["runs"]}
    wanted = [(objective, seed) for seed in seeds for objective in flags.objectives.split(",")
              if (objective, seed) not in done]
    lock = threading.Lock()

    def work(job, part):
        objective, seed = job
        machine.own.part = part
        name = "%s-%d" % job
        model = machine.trained("rl", flags.runs / name, run__seed=seed + RL_SEED, model__init=start,
                                rl__objective=objective)
        run = {"objective": objective, "seed": seed, "commit": commit, **of_log(flags.runs / name / "log.jsonl"),
               **outcome(name, *machine.evaluated(tasks, model, name))}
        with lock:
            found["runs"].append(run)
            write(found, flags.out)
            print("%s: pass@1 %.1f %%, %+.1f points (%+.1f to %+.1f), %.0f s" % (
                name, 100 * run["pass"], 100 * run["difference"], *(100 * x for x in run["interval"]),
                run["seconds"]), flush=True)

    try:
        share(wanted, flags.side_by_side, work, lambda: time.monotonic() - begun > 60 * flags.minutes)
    except subprocess.CalledProcessError as failed:
        raise SystemExit("a run ended with status %d (its output: %s); the same command goes on where it was" % (
            failed.returncode, flags.runs / "log.txt")) from None


if __name__ == "__main__":
    main()
