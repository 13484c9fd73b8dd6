"""`kernelwright collect`: verified answers of runs, as rows that training reads."""

import json
import shutil

import pytest

from command import DOUBLED_MODEL, ROOT, SINE_MODEL, run


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A run on two models, and the models."""
    folder = tmp_path_factory.mktemp("collect")
    models = folder / "models"
    models.mkdir()
    (models / "doubled.py").write_text(DOUBLED_MODEL)
    (models / "sine.py").write_text(SINE_MODEL)
    process = run("eval", models, "--backend", "cpu", "--samples", "3", "--trials", "1", "--no-time", "--seed", "1",
                  "--run-file", "--out", folder / "run")
    assert process.returncode == 0, process.stderr
    return folder / "run", models


def rows_of(folder):
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]


def test_rows_are_the_verified_answers(judged, tmp_path):
    kept, models = judged
    process = run("collect", kept, "--out", tmp_path / "rows", "--alike", "1", "--backend", "cpu")
    assert process.returncode == 0, process.stderr
    rows = rows_of(tmp_path / "rows")
    assert {row["provenance"]["route"] for row in rows} == {"teacher"}
    assert len({row["structure"] for row in rows}) == 2
    for row in rows:
        assert [message["role"] for message in row["messages"]] == ["system", "user", "assistant"]
        place = row["provenance"]
        name = "doubled" if "doubled" in place["model"] else "sine"
        code = (kept / ("%s.%d.fragment.py" % (name, place["sample"]))).read_text()
        assert code in row["messages"][-1]["content"]
        assert row["reference"] == (models / (name + ".py")).read_text()
        assert ("relu" in row["task"]) == (name == "doubled")
        assert row["difficulty"] == {"judged": 3, "right": 3, "label": "easy"}
        assert row["file"] == "same"
    assert len({row["program"] for row in rows}) == len(rows)
    (yields,) = json.loads((tmp_path / "rows" / "yields.json").read_text()).values()
    assert yields["kept"] == len(rows)
    assert yields["answers"] == 6 == yields["kept"] + sum(yields["dropped"].values())
    again = run("collect", kept, "--out", tmp_path / "rows", "--backend", "cpu")
    assert again.returncode == 2 and "another --out" in again.stderr


def test_texts_that_do_the_same_are_kept_apart(judged, tmp_path):
    kept = tmp_path / "run"
    shutil.copytree(judged[0], kept)
    lines = [json.loads(line) for line in (kept / "lines.jsonl").read_text().splitlines()]
    doubled, sine = sorted((line for line in lines if "model" in line), key=lambda line: line["model"])
    for sample, file in zip(doubled["samples"] + sine["samples"], ["other", "not tried", None] * 2):
        if file:
            sample["file"] = file
        else:
            del sample["file"], sample["program"]  # as earlier versions wrote it
    (kept / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    process = run("collect", kept, "--out", tmp_path / "same", "--backend", "cpu", "--file", "same")
    assert process.returncode == 1, process.stdout  # none is left
    (yields,) = json.loads((tmp_path / "same" / "yields.json").read_text()).values()
    assert yields["dropped"]["its file is not tried"] == 4 and yields["dropped"]["its file is other"] == 2
    process = run("collect", kept, "--out", tmp_path / "any", "--backend", "cpu", "--alike", "1")
    assert {row["file"] for row in rows_of(tmp_path / "any")} <= {"other", "not tried"}
    assert run("collect", kept, "--out", tmp_path / "x", "--file", "other").returncode == 2


def test_verl_reads_tasks_of_rows(judged, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="no pyarrow in this interpreter")
    kept, models = judged
    process = run("collect", kept, "--out", tmp_path / "rows", "--alike", "1", "--backend", "cpu", "--verl")
    assert process.returncode == 0, process.stderr
    table = parquet.read_table(tmp_path / "rows" / "verl.parquet").to_pylist()
    assert len(table) == 2  # tasks, whatever the number of their answers
    rows = rows_of(tmp_path / "rows")
    for index, row in enumerate(table):
        assert set(row) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
        name = row["reward_model"]["ground_truth"]
        assert row["extra_info"]["index"] == index
        assert row["extra_info"]["model"] == (models / (name + ".py")).read_text()
        answers = [each["messages"] for each in rows if each["reference"] == row["extra_info"]["model"]]
        assert row["prompt"] == answers[0][:-1]
        assert row["extra_info"]["answer"] == answers[0][-1]["content"]


def test_training_reads_rows(judged, tmp_path):
    assert run("collect", judged[0], "--out", tmp_path / "rows", "--alike", "1", "--backend", "cpu").returncode == 0
    process = run("train", ROOT / "recipes" / "smoke-sft.toml", "--out", tmp_path / "model", "--set",
                  "data.rows=%s" % (tmp_path / "rows" / "rows.jsonl"), "--set", "data.file=same", "--set",
                  "sft.steps=2", "--set",
                  "sft.validation=1", "--set", "run.device=cpu")
    assert process.returncode == 0, process.stderr
    assert "step 2 of 2" in process.stderr + process.stdout


def test_held_out_models_are_not_collected(judged, tmp_path):
    kept, models = judged
    held = tmp_path / "held"
    held.mkdir()
    other_sizes = DOUBLED_MODEL.replace("torch.randn(40, 30)", "torch.randn(7, 90)")
    assert other_sizes != DOUBLED_MODEL
    (held / "unlike.py").write_text("# other words\n" + other_sizes.replace("x)", "value)").replace("x:", "value:"))
    process = run("collect", kept, "--out", tmp_path / "rows", "--against", held, "--backend", "cpu")
    assert process.returncode == 0, process.stderr
    assert all("sine" in row["provenance"]["model"] for row in rows_of(tmp_path / "rows"))
    assert "a held-out model's program" in process.stdout
    none = run("collect", kept, "--out", tmp_path / "none", "--against", models, "--backend", "cpu")
    assert none.returncode == 1 and (tmp_path / "none" / "rows.jsonl").read_text() == ""


TWO_LAYERS = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(%d, 32), torch.nn.Linear(32, 16)

    def forward(self, x, y):
        return self.second(torch.relu(self.first(x))) + y


def get_inputs():
    return [torch.randn(%d, %d), torch.randn(%d, 16)]
"""


def test_held_out_models_with_weights_and_another_class(tmp_path):
    """A structure is of the program as it is asked about, which weights and several inputs do not change."""
    models, held = tmp_path / "models", tmp_path / "held"
    for folder, (width, rows) in ((models, (24, 40)), (held, (16, 24))):
        folder.mkdir()
        (folder / "net.py").write_text(TWO_LAYERS % (width, rows, width, rows))
    (held / "net.py").write_text((held / "net.py").read_text().replace("first", "one").replace("second", "two")
                                 .replace("Net", "Model"))
    process = run("eval", models, "--class", "Net", "--backend", "cpu", "--trials", "1", "--no-time", "--out",
                  tmp_path / "run")
    assert process.returncode == 0, process.stderr
    collect = ("collect", tmp_path / "run", "--backend", "cpu", "--known-text", "1")
    process = run(*collect, "--out", tmp_path / "all", "--verl")
    assert process.returncode == 0 and len(rows_of(tmp_path / "all")) == 1, process.stdout + process.stderr
    process = run(*collect, "--out", tmp_path / "none", "--against", held)
    assert process.returncode == 1 and "a held-out model's program" in process.stdout, process.stdout


def test_another_text_than_was_judged_is_no_row(judged, tmp_path):
    run_folder = tmp_path / "run"
    shutil.copytree(judged[0], run_folder)
    (answer,) = run_folder.glob("sine.0.fragment.py")
    answer.write_text(answer.read_text() + "# another\n")
    process = run("collect", run_folder, "--out", tmp_path / "rows", "--alike", "1", "--backend", "cpu")
    assert process.returncode == 0, process.stderr
    assert "1 the answer's file is not what was judged" in process.stdout
    assert all(row["messages"][-1]["content"].count("# another") == 0 for row in rows_of(tmp_path / "rows"))


def test_what_is_no_run_is_refused(judged, tmp_path):
    missing = run("collect", tmp_path / "missing", "--out", tmp_path / "rows")
    assert missing.returncode == 2 and "missing" in missing.stderr
    shutil.copy(judged[0] / "lines.jsonl", tmp_path / "elsewhere.jsonl")
    bare = run("collect", tmp_path / "elsewhere.jsonl", "--out", tmp_path / "rows")
    assert bare.returncode == 2 and "--out" in bare.stderr and not (tmp_path / "rows").exists()
