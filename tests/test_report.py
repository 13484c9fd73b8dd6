"""`kernelwright report`: pages and tables of runs of `kernelwright eval`."""

import csv
import json
import shutil
import signal
import subprocess
import time

import pytest

from command import DOUBLED_MODEL, SINE_MODEL, binary, run
from test_suites import FLAGS, LEVELS

LINES = ("level1/1_row_softmax", "level1/4_max_pool", "level2/3_product_mean_sigmoid",
         "level3/1_perceptron")


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    for name in LINES:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(LEVELS / (name + ".py"), folder / (name + ".py"))
    (folder / "level1" / "no_model.py").write_text("import torch\n")
    return folder


@pytest.fixture(scope="module")
def whole(suite, tmp_path_factory):
    """A run's folder, and the last line of eval."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    process = run("eval", suite, *FLAGS, "--samples", "2", "--out", out)
    assert process.returncode == 0, process.stderr
    return out, json.loads(process.stdout.splitlines()[-1])


def reported(*args):
    process = run("report", *args, "--json")
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_the_report_says_what_eval_said(whole):
    out, last = whole
    (policy,) = reported(out)["policies"]
    for key, value in last["summary"].items():
        assert policy["summary"][key] == value, key
    assert policy["levels"] == last["levels"]
    page = (out / "report.html").read_text()
    assert page.count('class="model"') == len(LINES) + 1
    for name in LINES:
        assert name + ".py" in page
    text = run("report", out).stdout
    assert "pass@2" in text and "level3" in text


def test_a_table_has_a_row_for_each_sample(whole, tmp_path):
    out, _ = whole
    table = tmp_path / "samples.csv"
    reported(out, "--csv", table, "--out", tmp_path / "page.html")
    lines = [json.loads(line) for line in (out / "lines.jsonl").read_text().splitlines()[1:]]
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    text = lambda value: "" if value is None else json.dumps(value)
    wanted = sorted((line["model"], sample["outcome"], sample["plan"].rstrip(),
                     *(text(sample[key]) for key in ("in_full", "allclose", "same_as")), sample["share"] or 0)
                    for line in lines for sample in line["samples"])
    assert sorted((*(row[key] for key in ("model", "outcome", "plan", "in_full", "allclose", "same_as")),
                   float(row["share"] or 0)) for row in rows if row["sample"]) == wanted
    assert {row["policy"] for row in rows} == {"teacher"}
    (unusable,) = [row for row in rows if not row["sample"]]
    assert unusable["model_outcome"] == "unusable" and "no Model" in unusable["reason"]


def test_a_killed_run_goes_on_to_the_same_numbers(suite, whole, tmp_path):
    out = tmp_path / "killed"
    command = ("eval", suite, *FLAGS, "--samples", "2", "--batch", "1", "--out", out)
    process = subprocess.Popen([binary(), *map(str, command)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    lines = out / "lines.jsonl"
    try:
        until = time.monotonic() + 120
        while not lines.exists() or lines.read_text().count("\n") < 3:  # two models
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = lines.read_text().count("\n")
    assert before < len(LINES) + 2
    again = run(*command)
    assert again.returncode == 0 and "were judged before" in again.stderr
    assert len(again.stdout.splitlines()) < len(LINES) + 2
    whole_out, _ = whole
    found, wanted = reported(out)["policies"], reported(whole_out)["policies"]
    assert found == wanted


def test_two_runs_are_compared_by_task(whole, tmp_path):
    out, _ = whole
    worse = tmp_path / "worse"
    shutil.copytree(out, worse)
    lines = (worse / "lines.jsonl").read_text().splitlines()
    for k, line in enumerate(lines):
        model = json.loads(line)
        if not str(model.get("model")).endswith("4_max_pool.py"):
            continue
        for sample in model["samples"]:
            sample.update(outcome="rejected", rejected_at="correct", in_full=False)
        lines[k] = json.dumps({**model, "outcome": "rejected"})
    (worse / "lines.jsonl").write_text("\n".join(lines) + "\n")
    (found,) = reported(out, "--against", worse)["against"]
    assert (found["tasks"], found["left_out"]) == (len(LINES), 0)
    assert found["comparison"]["solved"]["value"] == pytest.approx(1 / len(LINES))
    page = (out / "report.html").read_text()
    assert "Against " + str(worse) in page


@pytest.mark.parametrize("make, reason", [
    (lambda folder: None, "cannot be read"),
    (lambda folder: folder.mkdir(), "has no lines.jsonl"),
    (lambda folder: folder.write_text('{"model": "x.py"}\n'), "no file of eval's lines"),
])
def test_what_is_no_run(tmp_path, make, reason):
    make(tmp_path / "run")
    process = run("report", tmp_path / "run")
    assert process.returncode == 2 and reason in process.stderr


def test_a_report_does_not_write_over_runs(whole, tmp_path):
    out, _ = whole
    other = tmp_path / "other"
    shutil.copytree(out, other)
    for flags in (("--csv", out / "lines.jsonl"), ("--out", out / "lines.jsonl"),
                  ("--against", other, "--out", other / "lines.jsonl")):
        before = (out / "lines.jsonl").read_text()
        process = run("report", out, *flags)
        assert process.returncode == 2 and "is the run itself" in process.stderr, flags
        assert (out / "lines.jsonl").read_text() == before == (other / "lines.jsonl").read_text()
    process = run("report", out, "--out", tmp_path)
    assert process.returncode == 0 and (tmp_path / "report.html").exists()
    process = run("report", out, "--out", tmp_path / "nowhere" / "page.html")
    assert process.returncode == 2 and "there is no folder" in process.stderr


def test_a_run_with_a_search_is_compared_with_one_without(tmp_path):
    (tmp_path / "sine.py").write_text(SINE_MODEL)
    for name, flags in (("alone", ()), ("searched", ("--search", "20s"))):
        process = run("eval", tmp_path / "sine.py", *FLAGS, *flags, "--out", tmp_path / name)
        assert process.returncode == 0, process.stderr
    (found,) = reported(tmp_path / "searched", "--against", tmp_path / "alone")["against"]
    assert (found["tasks"], found["left_out"]) == (1, 0)


SCALED = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0) * %s, mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out
"""


def test_what_kernelbench_would_let_through_is_counted(tmp_path):
    """A tenth of a percent off everywhere: allclose with 1e-2, and a thousand times the reference's error."""
    (tmp_path / "doubled.py").write_text(DOUBLED_MODEL)
    answers = tmp_path / "answers"
    answers.mkdir()
    for k, factor in enumerate(("2.0", "2.002", "2.2")):
        (answers / ("doubled.%d.py" % k)).write_text(SCALED % factor)
    out = tmp_path / "run"
    process = run("eval", tmp_path / "doubled.py", *FLAGS, "--samples", "3", "--policy", "replay",
                  "--answers", answers, "--out", out)
    line, last = map(json.loads, process.stdout.splitlines())
    assert [(s["outcome"], s["allclose"]) for s in line["samples"]] == [
        ("accepted", True), ("rejected", True), ("rejected", False)]
    (policy,) = reported(out)["policies"]
    for summary in (last["summary"], policy["summary"]):
        assert (summary["allclose"], summary["allclose_not_correct"]) == (2, 1)
        assert summary["correct"] == 1 and summary["triton_share"]["value"] == 1
