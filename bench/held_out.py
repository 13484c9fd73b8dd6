"""Held-out tasks for a model that was trained by a recipe."""

import json
import subprocess

HELD_OUT_SEED = 1001
MOST_DRAWN = 20000  # programs of a run; a long one of supervised fine-tuning on few operators can draw more


def synth(tool, data, seed, count, out, split, *flags):
    if len(data["levels"]) != 1 or isinstance(data["log_low"], list):
        raise SystemExit("recipes of one level and one window are understood")
    only = ["--only", ",".join(data["operators"])] if data.get("operators") else []
    done = subprocess.run(list(map(str, [
        tool, "synth", "--level", data["levels"][0], "--count", count, "--seed", seed,
        "--window", "2^%d:2^%d" % (data["log_low"], data["log_high"]), *only,
        "--split", split, "--out", out, *flags])), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)


def held_out(tool, data, seeds, count, folder, backend="cpu"):
    """The file of tasks of a recipe's `data`, of the validation split, and how many were left out: whose text is one
    of the programs that any of the runs of these seeds can have drawn. Not all of those are known where a recipe bounds
    tensors (log_elements) below its window: such runs draw other sizes."""
    path, drawn = folder / "held_out.jsonl", folder / "drawn.jsonl"
    synth(tool, data, HELD_OUT_SEED, count + count // 4, drawn, "validation", "--backend", backend)
    seen = set()
    for seed in seeds:
        programs = folder / ("programs%d.jsonl" % seed)
        synth(tool, data, seed, MOST_DRAWN, programs, "train", "--no-hygiene")
        with programs.open() as file:
            seen.update(json.loads(line)["model"] for line in file)
    lines = drawn.read_text().splitlines()
    unseen = [line for line in lines if json.loads(line)["model"] not in seen]
    if len(unseen) < count:
        raise SystemExit("too few tasks that no run can have drawn: %d" % len(unseen))
    path.write_text("".join(line + "\n" for line in unseen[:count]))
    return path, len(lines) - len(unseen)
