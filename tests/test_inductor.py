"""The policy `inductor`: what torch.compile writes is judged like any candidate."""

import json
import re
import sys

import pytest

from command import DOUBLED_MODEL, ROOT, SINE_MODEL, TESTS, run

LEVEL1 = TESTS / "suites" / "levels" / "level1"
# On a CPU products and convolutions are PyTorch's, so that no model with one is Triton's alone.
BY_KERNELS = ("1_row_softmax", "3_layer_norm", "4_max_pool", "5_running_sum")

# A reference with a kernel of its own.
KERNEL_MODEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def doubled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)


class Model(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        doubled[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out


def get_inputs():
    return [torch.randn(40, 30)]
"""


SCAN_MODEL = SINE_MODEL.replace("torch.sin(x) + x", "torch.cumsum(x, 1)").replace("1000", "200, 3000")


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """The run's folder, and its lines by model."""
    folder = tmp_path_factory.mktemp("inductor")
    models = folder / "models"
    models.mkdir()
    for name in BY_KERNELS:
        (models / f"{name}.py").write_text((LEVEL1 / f"{name}.py").read_text())
    (models / "doubled.py").write_text(DOUBLED_MODEL)
    (models / "sine.py").write_text(SINE_MODEL)
    (models / "scan.py").write_text(SCAN_MODEL)
    (models / "kernel.py").write_text(KERNEL_MODEL)
    out = folder / "run"
    process = run("eval", models, "--backend", "cpu", "--policy", "inductor", "--samples", "3", "--trials", "2",
                  "--json", "--out", out)
    assert process.returncode == 0, process.stderr
    rows = [json.loads(line) for line in process.stdout.splitlines()]
    return out, {row["model"].rpartition("/")[2]: row for row in rows if "model" in row}


def test_what_it_writes_is_right(evaluated):
    _, rows = evaluated
    for name in (*BY_KERNELS, "doubled", "sine", "scan"):
        row = rows[f"{name}.py"]
        assert row["outcome"] == "verified", row
        (sample,) = row["samples"]  # it has one answer to a task, however many are asked for
        assert sample["family"] == "inductor" and sample["share"] == 1
        assert "XBLOCK" in sample["plan"]


def test_a_task_with_kernels_of_its_own_is_refused(evaluated):
    row = evaluated[1]["kernel.py"]
    assert row["outcome"] == "refused" and "kernels of its own" in row["reason"]


FORGED_MODEL = """
import sys
import torch

frames = sys.modules["frames"]  # what the worker's replies are written with
encode = frames.encode


def forge(value):
    if isinstance(value, dict):
        if isinstance(value.get("memory_format"), str):
            value["memory_format"] = "contiguous_format)\\nopen('%s', 'w')\\ndef forward(a0):\\n    t0 = (a0"
        if value.get("op") == "kernelwright.constant.default":
            value["args"]["data"] = value["args"]["data"][:1]
        value = value.values()
    if not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for each in value:
            forge(each)


def forged(message, blobs=()):
    forge(message)
    return encode(message, blobs)


frames.encode = forged


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(%s) * 2.5


def get_inputs():
    return [torch.randn(8, 16)]
"""


@pytest.mark.parametrize("forward", ["x.t().clone(memory_format=torch.contiguous_format)",
                                     "x * torch.tensor([1.5, 2.5]).repeat(8)"])
def test_a_forged_recording_runs_nothing(forward, tmp_path):
    """The worker's reply is written by the interpreter that ran the model."""
    mark = tmp_path / "mark"
    (tmp_path / "forged.py").write_text(FORGED_MODEL % (mark, forward))
    process = run("eval", tmp_path / "forged.py", "--backend", "cpu", "--policy", "inductor", "--json")
    assert process.returncode >= 0 and not mark.exists(), process.stderr
    rows = [json.loads(line) for line in process.stdout.splitlines()]
    assert rows and rows[0]["outcome"] in ("unusable", "not judged"), rows


def test_a_compile_that_took_too_long_was_not_judged(tmp_path):
    model = SINE_MODEL.replace("1000", "8, 16").replace("return torch.sin(x) + x", "for i in range(300):\n"
                               "            x = torch.cumsum(torch.sin(x), i % 2)\n        return x")
    (tmp_path / "long.py").write_text(model)
    process = run("eval", tmp_path / "long.py", "--backend", "cpu", "--policy", "inductor", "--policy-timeout", "1",
                  "--json")
    row = json.loads(process.stdout.splitlines()[0])
    assert row["outcome"] == "not judged", row
    assert "took more than 1 seconds" in row["samples"][0]["reason"]


def test_a_search_without_a_clock_has_a_time_for_its_kernels(tmp_path):
    (tmp_path / "sine.py").write_text(SINE_MODEL)
    process = run("optimize", tmp_path / "sine.py", "--backend", "cpu", "--policy", "inductor", "--budget", "60s",
                  "--out", tmp_path / "out", "--store", tmp_path / "store.sqlite", "--json")
    found = json.loads(process.stdout)
    assert found["outcome"] == "improved", process.stderr
    (form,) = found["forms"]
    assert 0 < form["found_seconds"] < form["eager_seconds"]


def test_its_answers_are_rows_to_learn_from(evaluated, tmp_path):
    out, _ = evaluated
    process = run("collect", out, "--out", tmp_path / "data")
    assert process.returncode == 0, process.stderr
    rows = [json.loads(line) for line in (tmp_path / "data" / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == len(BY_KERNELS) + 3
    assert {row["provenance"]["route"] for row in rows} == {"inductor"}
    for row in rows:
        answer = row["messages"][-1]["content"]
        assert "class ModelNew" in answer and "triton_helpers" not in answer


def model_of(text, inputs):
    """A task's text as a model's file."""
    body = re.sub(r"\n", "\n    ", text.strip().replace("def forward(", "def forward(self, "))
    tensors = ", ".join(f"torch.randn({tuple(each['shape'])})" for each in inputs)
    return (f"import torch\n\n\nclass Model(torch.nn.Module):\n    {body}\n\n\n"
            f"def get_inputs():\n    return [{tensors}]\n")


def test_what_a_gpu_wrote_of_templates_is_right(tmp_path):
    """Products and convolutions by Inductor's own kernels, which it only writes where there is a GPU: recorded
    on one, made into candidates and judged here."""
    sys.path.insert(0, str(ROOT / "worker"))
    import inductor_source
    recorded = json.loads((TESTS / "vectors" / "inductor" / "templates.json").read_text())["written"]
    for name, each in recorded.items():
        launches = [inductor_source.Launch(launch["kernel"], launch["grid"], launch["constants"], launch["options"])
                    for launch in each["launches"]]
        written = inductor_source.Written(each["code"], each["arguments"], each["outputs"], launches)
        plan, source = inductor_source.candidate(written, each["parameters"])
        assert re.search(r"template of .*; BLOCK_M \d+, BLOCK_N \d+, BLOCK_K \d+, \d+ warps", plan)
        (tmp_path / f"{name}.py").write_text(model_of(each["text"], each["inputs"]))
        (tmp_path / f"{name}.new.py").write_text(source)
        process = run("verify", tmp_path / f"{name}.py", tmp_path / f"{name}.new.py", "--backend", "cpu",
                      "--coverage", "pure")
        assert process.returncode == 0, process.stdout + process.stderr
