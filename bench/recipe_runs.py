"""Runs of recipes, and what their models are asked: held-out tasks, judged as reinforcement learning judges."""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EVALUATION_SEED = 7
RL_SEED = 100  # more than a start's seed: its own programs are others


def recipe(name, kind):
    return ROOT / "recipes" / ("%s-%s.toml" % (name, kind))


def typed(value):
    """As a recipe has it; words need no quotes on a command line."""
    try:
        return tomllib.loads("value = " + value)["value"]
    except tomllib.TOMLDecodeError:
        return value


def settings_of(tool, path, assignments=()):
    """Of a run, all of them: "rl.temperature": 1.0. Defaults are the program's."""
    tables = tomllib.loads(path.read_text())
    said = subprocess.run([tool, "train", "--settings", tables["run"]["kind"]], capture_output=True, text=True, check=True)
    settings = {key: typed(value) for key, value in re.findall(r"^(\S+) = (.*)$", said.stdout, re.M)}
    for name, values in tables.items():
        settings.update({"%s.%s" % (name, key): value for key, value in values.items()})
    for assignment in assignments:
        key, value = assignment.split("=", 1)
        settings[key] = typed(value)
    return settings


def table(settings, name):
    return {key.removeprefix(name + "."): value for key, value in settings.items() if key.startswith(name + ".")}


def newest_model(run):
    return max(run.glob("checkpoint-*/model"), key=lambda path: int(path.parent.name.split("-")[1]))


def evaluation(tasks, model, rl, device):
    """Words of the command: one answer to each task at the temperature that reinforcement learning by these settings
    samples at, the same random numbers for each model, and verdicts within the same deadlines."""
    trials = ["--trials", rl["judge.trials"]] if rl["judge.trials"] else []  # 0: all
    return ["eval", tasks, "--backend", device, "--coverage", "pure", "--no-time", "--policy", "local", "--model", model,
            "--model-device", device, "--samples", 1, "--seed", EVALUATION_SEED, "--temperature", rl["rl.temperature"],
            "--max-tokens", rl["rl.max_tokens"], *trials, "--build-timeout", rl["judge.build_seconds"],
            "--trial-timeout", rl["judge.trial_seconds"], "--executors", rl["judge.executors"],
            "--concurrency", rl["rl.rows"], "--batch", 256, "--json"]
