#!/usr/bin/env python3
"""What a policy makes of the tasks of suites/, a line of JSON each.

    bench/suites.py KERNELWRIGHT --level N [--seed S] [--samples K] [--trials T] [--tasks A:B] >>suites.jsonl

runs `synth --check` with other inputs and then `eval --until-accepted` on suites/levelN.jsonl, at full
size, on a GPU: on all of its tasks, or the Ath to the Bth. The first line of a level says how they
were run and which tasks are none any more.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time


def run(command):
    print(" ".join(command), file=sys.stderr, flush=True)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def checked(kernelwright, suite, seed):
    """Lines of `synth --check` on tasks that are not clean."""
    process = run([kernelwright, "synth", "--check", suite, "--seed", str(seed), "--backend", "cuda"])
    lines = [line.strip() for line in process.stdout]
    if process.wait() > 1:
        raise SystemExit("synth --check failed")
    return [line for line in lines if line]


def row_of(result):
    last = result["samples"][-1] if result["samples"] else None
    return {"model": result["model"], "outcome": result["outcome"], "proposals": len(result["samples"]),
            "parts": last["schedule"]["parts"] if last else 0,
            "families": sorted({word.split(";")[0] for word in last["plan"].split("family: ")[1:]}) if last else [],
            "reason": result["reason"] or (last["reason"] if last else ""),
            "judge_seconds": round(result["judge_seconds"], 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright")
    parser.add_argument("--level", type=int, required=True)
    parser.add_argument("--seed", type=int, default=4711)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--trials", type=int, default=0, help="as for eval")
    parser.add_argument("--tasks", help="A:B, from 1 (default: all)")
    flags = parser.parse_args()
    suite = "suites/level%d.jsonl" % flags.level
    with tempfile.TemporaryDirectory() as folder:
        if flags.tasks:
            first, last = map(int, flags.tasks.split(":"))
            lines = open(suite).readlines()[first - 1:last]
            suite = os.path.join(folder, "level%d.%d-%d.jsonl" % (flags.level, first, last))
            open(suite, "w").writelines(lines)
        return replay(suite, flags)


def replay(suite, flags):
    start = time.monotonic()
    lines = checked(flags.kernelwright, suite, flags.seed)
    command = [flags.kernelwright, "eval", suite, "--backend", "cuda", "--coverage", "pure", "--no-time",
               "--samples", str(flags.samples), "--until-accepted", "--batch", "25", "--json"]
    command += ["--trials", str(flags.trials)] if flags.trials else []
    print(json.dumps({"level": flags.level, "tasks": flags.tasks or "all", "seed": flags.seed,
                      "check": lines, "check_seconds": round(time.monotonic() - start, 1),
                      "command": " ".join(command[1:]).replace(os.path.dirname(suite), "suites")}), flush=True)
    process = run(command)
    for line in process.stdout:
        result = json.loads(line)
        if "summary" not in result:  # its last line
            print(json.dumps({"level": flags.level, **row_of(result)}), flush=True)
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
