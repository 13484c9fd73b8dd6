"""`kernelwright synth --augment`: a model file in other sizes."""

import json

import pytest
import torch

from command import ROOT, run

MODEL = ROOT / "tests/models/gated_norm.py"
HEADS = """import torch
import torch.nn as nn

BATCH = 3
WIDTH = 48  # of all heads
HEADS = 4


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        parts = self.line(x).view(BATCH, HEADS, WIDTH // HEADS)
        return torch.softmax(parts, -1) %s


def get_inputs():
    return [torch.randn(BATCH, WIDTH)]


def get_init_inputs():
    return []
"""


def augment(model, out, *flags):
    return run("synth", "--augment", model, "--out", out, "--backend", "cpu", *flags)


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def shapes_in_pytorch(text):
    """Of the parameters and inputs; the model runs."""
    names = {}
    exec(text, names)
    model, inputs = names["Model"](*names["get_init_inputs"]()), names["get_inputs"]()
    model(*inputs)
    return tuple(tuple(each.shape) for each in [*model.state_dict().values(), *inputs])


def test_other_shapes_of_a_model(tmp_path):
    process = augment(MODEL, tmp_path / "tasks.jsonl", "--count", 12)
    assert process.returncode == 0, process.stderr
    rows, original = rows_of(tmp_path / "tasks.jsonl"), MODEL.read_text()
    assert len(rows) == len({row["id"] for row in rows}) == 12
    shapes = [shapes_in_pytorch(row["model"]) for row in rows]
    assert len({*shapes, shapes_in_pytorch(original)}) == 13
    for row in rows:
        changed = original.splitlines()
        for name, value in row["constants"].items():
            [line] = [i for i, text in enumerate(changed) if text.startswith(name + " = ")]
            changed[line] = "%s = %d" % (name, value)
        assert row["model"].splitlines() == changed
        assert row["constants"]["WIDTH"] <= 4 * 72 and row["constants"]["ROWS"] <= 4 * 37
    # Tasks of any kind are examined on other inputs, and judged, by the same commands.
    process = run("synth", "--check", tmp_path / "tasks.jsonl", "--seed", 7, "--backend", "cpu")
    assert process.returncode == 0 and "12 tasks examined at full size" in process.stdout


def test_a_killed_run_goes_on(tmp_path):
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    assert augment(MODEL, whole, "--count", 7).returncode == 0
    assert augment(MODEL, part, "--count", 3).returncode == 0
    with part.open("a") as file:
        file.write(whole.read_text().splitlines()[3][:100])
    assert augment(MODEL, part, "--count", 7).returncode == 0
    assert [{**row, "rejected": None} for row in rows_of(part)] == [
        {**row, "rejected": None} for row in rows_of(whole)]
    for flags in (("--seed", 2), ("--no-hygiene",), ("--set", "ROWS=8")):
        process = augment(MODEL, part, "--count", 9, *flags)
        assert process.returncode == 2 and "choose another --out" in process.stderr, flags
    assert len(rows_of(part)) == 7


@pytest.mark.parametrize("flags", [("--augment", MODEL, "--backend", "cpu"), ("--level", 1, "--no-hygiene")])
def test_half_of_a_first_row_is_made_anew(tmp_path, flags):
    """Whatever stands first in a row: it is told from another's file."""
    whole = tmp_path / "whole.jsonl"
    assert run("synth", *flags, "--count", 1, "--out", whole).returncode == 0
    for length in (0, 5, 60):
        part = tmp_path / ("part%d.jsonl" % length)
        part.write_text(whole.read_text()[:length])
        assert run("synth", *flags, "--count", 1, "--out", part).returncode == 0
        assert part.read_text() == whole.read_text()


@pytest.mark.parametrize("content", ['{"a": 1, "precious": [1, 2, 3]}', '{"of": 1}\n', '{"of": null}\n', "hello"])
@pytest.mark.parametrize("flags", [("--augment", MODEL, "--backend", "cpu"), ("--level", 1, "--no-hygiene")])
def test_other_files_stay(tmp_path, content, flags):
    file = tmp_path / "config.json"
    file.write_text(content)
    process = run("synth", *flags, "--count", 1, "--out", file)
    assert process.returncode == 2 and "choose another --out" in process.stderr, process.stderr
    assert file.read_text() == content


def test_what_does_not_run_is_told(tmp_path):
    """Heads have to divide the width."""
    model = tmp_path / "heads.py"
    model.write_text(HEADS % "")
    assert augment(model, tmp_path / "tasks.jsonl", "--count", 8).returncode == 0
    rows = rows_of(tmp_path / "tasks.jsonl")
    assert all(row["constants"]["WIDTH"] % row["constants"]["HEADS"] == 0 for row in rows)
    rejected = [each for row in rows for each in row["rejected"]]
    assert rejected and all(each["reason"] for each in rejected)
    uneven = [each for each in rejected if each["constants"]["WIDTH"] % each["constants"]["HEADS"]]
    assert uneven and all(each["reason"].startswith("does not run: ") for each in uneven)


@pytest.mark.parametrize("text, words", [
    (HEADS % "* 0", "is no fair task: constant"),
    (HEADS.replace("WIDTH // HEADS", "WIDTH") % "", "does not run"),
    ("N = 9223372036854775807\nM = 0\n" + HEADS.replace("BATCH = 3", "BATCH = 3 + 0")
     .replace("WIDTH = 48", "WIDTH = int(48)").replace("HEADS = 4", "HEADS = 2 + 2") % "", "no sizes to vary"),
    (HEADS.replace("BATCH = 3", "BATCH = 3 + 0").replace("WIDTH = 48", "WIDTH = int(48)")
     .replace("HEADS = 4", "HEADS = 2 + 2") % "", "no sizes to vary"),
])
def test_models_that_cannot_be_augmented(tmp_path, text, words):
    model = tmp_path / "model.py"
    model.write_text(text)
    process = augment(model, tmp_path / "tasks.jsonl", "--count", 2)
    assert process.returncode == 2 and words in process.stderr, process.stderr
    assert not (tmp_path / "tasks.jsonl").exists()


def test_without_hygiene_what_runs_is_taken(tmp_path):
    model = tmp_path / "model.py"
    model.write_text(HEADS % "* 0")
    assert augment(model, tmp_path / "tasks.jsonl", "--count", 2, "--no-hygiene").returncode == 0
    for row in rows_of(tmp_path / "tasks.jsonl"):
        assert torch.Size(shapes_in_pytorch(row["model"])[-1])[0] == row["constants"]["BATCH"]


def test_sizes_that_cannot_change_end_the_run(tmp_path):
    """A constant that no shape hangs on."""
    model = tmp_path / "model.py"
    text = HEADS.replace("BATCH, WIDTH)", "3, 48)").replace("WIDTH, WIDTH", "48, 48")
    model.write_text(text.replace("BATCH, HEADS, WIDTH // HEADS", "3, 4, 12") % "")
    process = augment(model, tmp_path / "tasks.jsonl", "--count", 2)
    assert process.returncode == 2 and "none of its sizes could be changed" in process.stderr
    assert "200 proposals in a row" in process.stdout and "has shapes that are there" in process.stdout
