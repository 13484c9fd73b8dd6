#!/usr/bin/env python3
"""Rows to learn from, by torch.compile and by the teacher: drawn tasks, judged by all GPUs of a host, and collected.

    bench/collect_rows.py KERNELWRIGHT --runs FOLDER --out bench/h100/collect.json
                          [--tasks 1:200,2:150,3:100,5:50] [--window LOW:HIGH] [--backend cuda|cpu] [--gpus N] [--minutes M]

--tasks: level:count, drawn for training from --seed, and tried on the CPU in small sizes; --window: floating-point
operations of each, as `synth --window` has it. Each GPU judges every Nth task, the teacher's answers and Inductor's one side by side (--beside), and leaves
its run in FOLDER; the same command goes on with what is missing. Then `collect` takes the rows that no suite of the
project knows into FOLDER/rows, and --out gets what each route yielded, why the rest was left out, and what it took.
"""

import argparse
import json
import shutil
import subprocess
import time
from pathlib import Path

from files import write_whole
from gpus import part_of_host, share

ROOT = Path(__file__).resolve().parent.parent


def drawn(flags):
    """The file of tasks; those of a level that are there stay."""
    parts = []
    for what in flags.tasks.split(","):
        level, count = what.split(":")
        part = flags.runs / f"level{level}.jsonl"
        window = ["--window", flags.window] if flags.window else []
        subprocess.run([flags.kernelwright, "synth", "--level", level, "--count", count, "--split", "train", "--seed",
                        str(flags.seed), "--backend", "cpu", *window, "--out", part], check=True)
        parts.append(part.read_text())
    tasks = flags.runs / "tasks.jsonl"
    write_whole(tasks, "".join(parts))
    return tasks


def judged(flags, tasks):
    """The runs' folders; what is under way when the time is over goes on another time."""
    begun = time.monotonic()
    folders = [flags.runs / f"part{i + 1}" for i in range(flags.gpus)]

    def work(i, gpu):
        left = 60 * flags.minutes - (time.monotonic() - begun)
        command = [flags.kernelwright, "eval", tasks, "--policy", "teacher", "--samples", str(flags.samples), "--beside",
                   "inductor@1", "--coverage", "pure", "--backend", flags.backend, "--seed", "1", "--batch", "16",
                   "--interval-width", "0.05", "--build-timeout", "60", "--trial-timeout", "60",
                   *(["--executors", "2"] if flags.backend == "cuda" else ["--trials", "2"]),
                   "--shard", f"{i + 1}/{flags.gpus}", "--out", folders[i]]
        prefix, environment = part_of_host(gpu, flags.gpus)
        with (flags.runs / f"part{i + 1}.log").open("w") as log:
            process = subprocess.Popen([*prefix, *command], stdout=log, stderr=log, env=environment)
            try:
                process.wait(max(left, 1))
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()

    share(range(flags.gpus), flags.gpus, work, lambda: time.monotonic() - begun > 60 * flags.minutes)
    return [folder for folder in folders if (folder / "lines.jsonl").exists()], time.monotonic() - begun


def judged_tasks(folders):
    lines = [json.loads(line) for folder in folders for line in (folder / "lines.jsonl").read_text().splitlines()]
    return len({line["model"] for line in lines if "model" in line})


def device(backend):
    if backend == "cpu":
        return "CPU"
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright", type=Path)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default="1:200,2:150,3:100,5:50")
    parser.add_argument("--window", default="")
    parser.add_argument("--samples", type=int, default=4, help="of the teacher")
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--backend", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--against", default="suites", help="folder of the suites that rows must not be of")
    parser.add_argument("--commit", default="", help="where there is no git")
    flags = parser.parse_args()
    flags.kernelwright = flags.kernelwright.resolve()
    flags.runs.mkdir(parents=True, exist_ok=True)
    before = json.loads(flags.out.read_text())["judge_seconds"] if flags.out.exists() else 0
    tasks = drawn(flags)
    folders, seconds = judged(flags, tasks)
    rows = flags.runs / "rows"
    shutil.rmtree(rows, ignore_errors=True)
    begun = time.monotonic()
    suites = sorted(Path(flags.against).glob("*.jsonl"))
    collect = subprocess.run([flags.kernelwright, "collect", *folders, "--out", rows, "--backend", "cpu",
                              *(["--against", *suites] if suites else [])], capture_output=True, text=True, check=False)
    if collect.returncode not in (0, 1):
        raise SystemExit(collect.stderr)
    kept = [json.loads(line) for line in (rows / "rows.jsonl").read_text().splitlines()]
    size = sum(len(row["messages"][-1]["content"]) for row in kept)
    write_whole(flags.out, json.dumps({
        "command": f"bench/collect_rows.py --tasks {flags.tasks}" + (f" --window {flags.window}" if flags.window else ""),
        "commit": flags.commit, "device": device(flags.backend), "gpus": flags.gpus,
        "tasks": sum(1 for _ in tasks.open()), "judged": judged_tasks(folders),
        "judge_seconds": round(before + seconds, 1), "collect_seconds": round(time.monotonic() - begun, 1),
        "rows": len(kept), "answer_characters": round(size / len(kept)) if kept else None,
        "difficulty": {label: sum(row["difficulty"]["label"] == label for row in kept)
                       for label in ("easy", "medium", "hard")},
        "routes": json.loads((rows / "yields.json").read_text())}, indent=1) + "\n")
    print(flags.out.read_text(), end="")


if __name__ == "__main__":
    main()
