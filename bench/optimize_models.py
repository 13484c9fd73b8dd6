"""Models optimized one after another, each with a GPU of its own where the host has several.

    python bench/optimize_models.py build/kernelwright --out FOLDER [--budget 90s] [--gpus 1]
        [--minutes 9] [--commit abc1234] [--store FILE] MODEL.py ...

Leaves what `kernelwright optimize --json` prints as FOLDER/NAME.json, with the budget and the commit, and
its result folder as FOLDER/NAME. After so many --minutes no further one is begun: the same command then
goes on with the others. The exit status is 1 if a model failed or is left.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from files import write_whole
from gpus import part_of_host, share


PEERS = {"eager": "eager", "compile": "torch.compile", "reduce_overhead": "its reduce-overhead"}


def over_best(calls):
    """How much faster optimized.py is, as called, than the fastest of the original's."""
    times = calls["times"]
    best = min((name for name in PEERS if name in times), key=lambda name: times[name]["wall"])
    return times["called"]["over_eager"] / times[best]["over_eager"], best


def line_of(result):
    """One line for people: wall time, if it was measured, and device time."""
    verdict = result["verdict"]
    ratios = [(what, verdict[key]["estimate"]) for what, key in
              (("eager", "speedup_eager"), ("torch.compile", "speedup_compile")) if verdict.get(key)]
    calls = verdict.get("calls")
    if calls and "called" in calls["times"]:
        ratio, best = over_best(calls)
        ratios.append(("%s as called" % PEERS[best], ratio))
    return ", ".join([result["outcome"], *("%.2fx of %s" % (ratio, what) for what, ratio in ratios)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright", help="the binary")
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget", default="90s", help="time of each search")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--commit", default="", help="that results name; without one, none is kept from before")
    options = parser.parse_args()
    end, failed = time.monotonic() + 60 * options.minutes, []
    made_by = {"budget": options.budget, "commit": options.commit}

    def is_done(model):
        path = options.out / (model.stem + ".json")
        if not options.commit or not path.exists():
            return False
        known = json.loads(path.read_text())
        return all(known.get(key) == value for key, value in made_by.items())

    def optimize(model, gpu):
        folder, result, began = options.out / model.stem, options.out / (model.stem + ".json"), time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        result.unlink(missing_ok=True)
        prefix, environment = part_of_host(gpu, options.gpus)
        command = [*prefix, options.kernelwright, "optimize", str(model), "--backend", "cuda", "--json",
                   "--budget", options.budget, "--out", str(folder),
                   *(["--store", str(options.store)] if options.store else [])]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            value = json.loads(done.stdout)
            said = line_of(value)
            write_whole(result, json.dumps({**value, **made_by}))
        except (ValueError, KeyError):
            value, said = None, "failed with status %d" % done.returncode
        if done.returncode or value is None:
            failed.append(model.stem)
        print("%-32s %s (%.0f s)" % (model.stem, said, time.monotonic() - began), flush=True)

    options.out.mkdir(parents=True, exist_ok=True)
    wanted = [model for model in options.models if not is_done(model)]
    share(wanted, options.gpus, optimize, lambda: time.monotonic() > end)
    left = [model.stem for model in wanted if model.stem not in failed and not (options.out / (model.stem + ".json")).exists()]
    for what, names in (("failed", failed), ("left", left)):
        if names:
            print("%s: %s" % (what, ", ".join(names)))
    return 1 if failed or left else 0


if __name__ == "__main__":
    sys.exit(main())
