"""Models optimized one after another, each with a GPU of its own where the host has several.

    python bench/optimize_models.py build/kernelwright --out FOLDER [--budget 90s] [--gpus 1]
        [--minutes 9] [--store FILE] MODEL.py ...

Leaves what `kernelwright optimize --json` prints as FOLDER/NAME.json, and its result folder as
FOLDER/NAME. After so many --minutes no further one is begun.
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


def line_of(result):
    """One line for people: wall time, if it was measured, and device time."""
    verdict = result["verdict"]
    ratios = [(what, verdict[key]["estimate"]) for what, key in
              (("eager", "speedup_eager"), ("torch.compile", "speedup_compile")) if verdict.get(key)]
    times = (verdict.get("calls") or {}).get("times", {})
    if "called" in times:
        ratios.append(("the best as called", times["called"]["over_eager"] / max(
            times[name]["over_eager"] for name in ("eager", "compile", "reduce_overhead") if name in times)))
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
    options = parser.parse_args()
    end, failed = time.monotonic() + 60 * options.minutes, []

    def optimize(model, gpu):
        folder, began = options.out / model.stem, time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        prefix, environment = part_of_host(gpu, options.gpus)
        command = [*prefix, options.kernelwright, "optimize", str(model), "--backend", "cuda", "--json",
                   "--budget", options.budget, "--out", str(folder),
                   *(["--store", str(options.store)] if options.store else [])]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
        if done.stdout:
            write_whole(options.out / (model.stem + ".json"), done.stdout)
        if done.returncode:
            failed.append(model.stem)
        said = line_of(json.loads(done.stdout)) if done.stdout else "failed with status %d" % done.returncode
        print("%-32s %s (%.0f s)" % (model.stem, said, time.monotonic() - began), flush=True)

    options.out.mkdir(parents=True, exist_ok=True)
    share(options.models, options.gpus, optimize, lambda: time.monotonic() > end)
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
