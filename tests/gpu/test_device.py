"""What only a GPU can show: launches that break the device, and the executor's recovery from them.

`bench/gpu.sh test` runs these on a GPU host; elsewhere they are skipped.
"""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from command import has_gpu, run, verdicts  # noqa: E402

pytestmark = pytest.mark.skipif(not has_gpu(), reason="no GPU")

MODEL = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1.0

def get_inputs():
    return [torch.randn(1000, 37)]

def get_init_inputs():
    return []
"""

CANDIDATE = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0) + 1.0
    %s

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out
"""

BODIES = {
    "right_before": "tl.store(out + i, value, mask=i < n)",
    # Terabytes past the buffer: the driver reports an illegal address.
    "wild_pointer": "tl.store(out + i.to(tl.int64) * 1000000007, value)",
    # Every program waits for a value that nobody writes.
    "hang": """while tl.load(x, volatile=True) > -1e30:
        pass
    tl.store(out + i, value, mask=i < n)""",
    # A little past the end: into the guard region, which no driver notices.
    "overrun": "tl.store(out + i, value)",
    "race_of_halves": """tl.store(out + i, value * 0.5, mask=i < n)
    tl.store(out + i, value, mask=(i < n) & (i % 2 == 0))""",
    "right_after": "tl.store(out + i, value, mask=i < n)",
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("device")
    (folder / "model.py").write_text(MODEL)
    names = []
    for name, body in BODIES.items():
        (folder / (name + ".py")).write_text(CANDIDATE % body)
        names.append(folder / (name + ".py"))
    process = run("verify", folder / "model.py", *names, "--backend", "cuda", "--json",
                  "--no-baseline", "--trial-timeout", "15")
    assert process.returncode == 1, process.stderr
    return verdicts(process)


@pytest.mark.parametrize("name", ["right_before", "right_after"])
def test_right_candidates_pass_also_after_the_device_was_lost(judged, name):
    verdict = judged[name + ".py"]
    assert verdict["outcome"] == "accepted", verdict["reason"]
    assert verdict["speedup_eager"]["lower"] > 0


@pytest.mark.parametrize("name", ["wild_pointer", "hang", "overrun", "race_of_halves"])
def test_broken_candidates_are_rejected_at_the_correct_stage(judged, name):
    verdict = judged[name + ".py"]
    assert (verdict["outcome"], verdict["rejected_at"]) == ("rejected", "correct")
    assert verdict["reason"]


def test_a_batch_goes_on_after_the_device_was_lost(tmp_path):
    batch = tmp_path / "batch.jsonl"
    names = ["wild_pointer", "right_before", "hang", "overrun", "right_after"]
    batch.write_text("".join(json.dumps(
        {"id": name, "reference_text": MODEL, "candidate_text": "# %s\n" % name + CANDIDATE % BODIES[name]})
        + "\n" for name in names))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = run("verify", "--backend", "cuda", "--jobs", "2", "--trial-timeout", "15", "--batch", batch,
                  env={"TMPDIR": str(temporary)})
    lines = (tmp_path / "batch.jsonl.results.jsonl").read_text().splitlines()
    results = {r["id"]: r for r in map(json.loads, lines)}
    assert sorted(results) == sorted(names), process.stderr
    for name in names:
        expected = ("accepted", None) if name.startswith("right") else ("rejected", "correct")
        assert (results[name]["outcome"], results[name]["rejected_at"]) == expected, results[name]
    assert process.returncode in (0, 1), process.stderr
    assert not list(temporary.iterdir())


# What compute-sanitizer sees, and trials do not: values out of bounds, or unwritten, that do not matter.
WATCHED = {
    "right": "",
    "reads_beyond": "value += tl.where(i < n, 0.0, tl.load(x + i))",
    # What is added is too small to count. A load that a condition leaves out may never happen.
    "reads_unwritten": """held = tl.load(out + i, mask=i < n)
    value += tl.where(tl.abs(held) < 1.0, held, 0.0) * 1e-30""",
}


def watched(name):
    return CANDIDATE % (WATCHED[name] + "\n    tl.store(out + i, value, mask=i < n)")


def test_compute_sanitizer_sees_what_is_out_of_bounds_or_unwritten(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    names = ["right", "reads_beyond", "right", "reads_unwritten", "right", "reads_beyond", "right"]
    files = [tmp_path / ("%d_%s.py" % pair) for pair in enumerate(names)]
    for name, file in zip(names, files):
        file.write_text(watched(name))
    found = verdicts(run("verify", tmp_path / "model.py", *files, "--backend", "cuda", "--json", "--no-time",
                         "--sanitize"))
    for name, file in zip(names, files):
        verdict = found[file.name]
        report = next(stage for stage in verdict["stages"] if stage["stage"] == "correct")["evidence"]["sanitizer"]
        assert "fault" not in report, report
        expected = "rejected" if name == "reads_beyond" else "accepted"
        assert verdict["outcome"] == expected, (name, verdict["reason"])
        assert verdict["reason"].endswith("[sanitizer]") == (name == "reads_beyond")
        assert bool(report["findings"]) == (name == "reads_beyond"), report
        # What lies beyond a buffer is mostly unwritten.
        assert name == "reads_beyond" or bool(report["noted"]) == (name == "reads_unwritten"), report


def test_a_batch_runs_a_share_under_compute_sanitizer(tmp_path):
    """Processes of the executor side by side share the tools."""
    batch = tmp_path / "batch.jsonl"
    names = ["right", "reads_beyond", "reads_unwritten"] * 6
    batch.write_text("".join(json.dumps(
        {"id": str(i), "reference_text": MODEL.replace("1000", str(1000 + i)),
         "candidate_text": watched(name)}) + "\n" for i, name in enumerate(names)))
    process = run("verify", "--backend", "cuda", "--jobs", "8", "--executors", "3", "--sanitize", "--batch", batch)
    lines = (tmp_path / "batch.jsonl.results.jsonl").read_text().splitlines()
    results = {r["id"]: r for r in map(json.loads, lines)}
    assert len(results) == len(names), process.stderr
    for i, name in enumerate(names):
        assert results[str(i)]["outcome"] == ("rejected" if name == "reads_beyond" else "accepted"), results[str(i)]
        noted = results[str(i)]["sanitizer"]["noted"]
        assert name == "reads_beyond" or bool(noted) == (name == "reads_unwritten"), noted
    assert "18 run under compute-sanitizer, 6 with findings" in process.stdout


# Every program adds one, through descriptors that the host or the kernel makes.
DESCRIPTORS = """
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def host(a, b, BLOCK: tl.constexpr):
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    b.store([i, j], tl.maximum(a.load([i, j]), 0.0) + 1.0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        a = TensorDescriptor.from_tensor(x, [32, 32])
        b = TensorDescriptor.from_tensor(out, [32, 32])
        host[(triton.cdiv(x.shape[0], 32), triton.cdiv(x.shape[1], 32))](a, b, BLOCK=32)
        return out
"""

TUNED = CANDIDATE.replace("@triton.jit", """@triton.autotune(configs=[
    triton.Config({"BLOCK": 32}, num_warps=1), triton.Config({"BLOCK": 64}, num_warps=2),
    triton.Config({"BLOCK": 1024}, num_warps=4)], key=["n"])
@triton.jit""").replace("cdiv(x.numel(), 256)", "cdiv(x.numel(), meta['BLOCK'])").replace(
    "kernel[(", "kernel[lambda meta: (").replace(", BLOCK=256)", ")")


def judge(folder, model, candidate):
    (folder / "model.py").write_text(model)
    (folder / "candidate.py").write_text(candidate)
    process = run("verify", folder / "model.py", folder / "candidate.py", "--backend", "cuda",
                  "--json", "--no-baseline")
    assert process.returncode in (0, 1), process.stderr
    return json.loads(process.stdout)


@pytest.mark.parametrize("shape", ["1024, 256", "100, 36"])
def test_host_descriptors(shape, tmp_path):
    """Also where the last blocks lie partly outside of the tensor."""
    verdict = judge(tmp_path, MODEL.replace("1000, 37", shape), DESCRIPTORS)
    assert verdict["outcome"] == "accepted", verdict["reason"]
    wrong = judge(tmp_path, MODEL.replace("1000, 37", shape), DESCRIPTORS.replace("+ 1.0", "+ 2.0"))
    assert wrong["rejected_at"] == "correct", wrong["reason"]


def test_the_fastest_configuration_is_timed(tmp_path):
    model = MODEL.replace("1000, 37", "4096, 4096")
    verdict = judge(tmp_path, model, TUNED % BODIES["right_before"])
    assert verdict["outcome"] == "accepted", verdict["reason"]
    slow, _, fast = verdict["configurations"]
    assert slow["device_ms"] > fast["device_ms"] > 0
    chosen, = [c for c in verdict["configurations"] if c["chosen"]]
    assert chosen["device_ms"] == min(c["device_ms"] for c in verdict["configurations"])
    timed, = [s for s in verdict["stages"] if s["stage"] == "time"]
    assert timed["evidence"]["candidate"]["device_ms"] < slow["device_ms"]


def test_the_fastest_configuration_is_judged(tmp_path):
    model = MODEL.replace("1000, 37", "4096, 4096")
    for right, outcome in (("BLOCK < 64", "rejected"), ("BLOCK >= 64", "accepted")):
        body = BODIES["right_before"].replace("value,", "value * (1.0 if %s else 2.0)," % right)
        verdict = judge(tmp_path, model, TUNED % body)
        assert verdict["outcome"] == outcome, verdict["reason"]


@pytest.mark.parametrize("inputs", [
    "F.conv_transpose2d(torch.randn(32, 32, 64, 64), torch.randn(32, 3, 4, 4), None, 2, 1)",
    "torch.zeros(64).index_add(0, torch.randint(0, 64, (200000,)), torch.randn(200000))",
])
def test_inputs_that_are_computed_by_atomics_are_the_same_in_every_draw(inputs, tmp_path):
    """They were drawn once for the candidate and once for the reference, and differed."""
    model = MODEL.replace("import torch\n", "import torch\nimport torch.nn.functional as F\n", 1)
    model = model.replace("torch.randn(1000, 37)", inputs)
    verdict = judge(tmp_path, model, CANDIDATE % BODIES["right_before"])
    assert verdict["outcome"] == "accepted", verdict["reason"]


STEPS = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.softmax(x @ x, -1) + y.cumsum(0).sum(1)

def get_inputs():
    return [torch.randn(2048, 2048), torch.randn(2048, 64, 2048)]

def get_init_inputs():
    return []
"""


def device_seconds(function):
    import torch
    best = []
    for _ in range(5):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.empty(2**27, device="cuda").fill_(1)  # the caches hold nothing of the last run
        start.record()
        function()
        stop.record()
        torch.cuda.synchronize()
        best.append(1e-3 * start.elapsed_time(stop))
    return min(best)


def test_steps_with_inputs_of_their_own_are_measured(tmp_path):
    """Guesses of single steps would lead the search astray; PyTorch's own clock knows better."""
    import torch
    (tmp_path / "model.py").write_text(STEPS)
    process = run("optimize", tmp_path / "model.py", "--backend", "cuda", "--json", "--no-baseline",
                  "--budget", "5s", "--out", tmp_path / "out", "--store", tmp_path / "store.sqlite")
    steps = {step["operator"]: step for step in json.loads(process.stdout)["steps"]}
    assert all(step["measured"] for step in steps.values()), steps
    x, y = torch.randn(2048, 2048, device="cuda"), torch.randn(2048, 64, 2048, device="cuda")
    product = x @ x  # what flows there: the time of a softmax depends on it
    expected = {"aten.matmul.default": lambda: x @ x,
                "aten.softmax.int": lambda: torch.softmax(product, -1),
                "aten.cumsum.default": lambda: y.cumsum(0),
                "aten.sum.dim_IntList": lambda: y.sum(1)}
    pairs = {name: (steps[name]["seconds"], device_seconds(call)) for name, call in expected.items()}
    assert all(0.5 < ours / theirs < 2 for ours, theirs in pairs.values()), pairs


def test_tasks_are_examined_at_full_size(tmp_path):
    """Programs and twins both; a result that is always the same is found."""
    path = tmp_path / "tasks.jsonl"
    drawn = run("synth", "--level", 3, "--count", 8, "--only", "Softmax,Sum,Matmul,Conv2d,Add",
                "--window", "2^24:2^28", "--out", path)
    assert drawn.returncode == 0, drawn.stderr
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == 8 and all(row["flops"] <= 2 ** 28 and row["twin"] for row in rows)
    rows[3]["model"] = rows[3]["model"].replace("    return ", "    return 0 * ", 1)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    again = run("synth", "--check", path, "--seed", 5)
    assert again.returncode == 0 and "8 tasks examined at full size" in again.stdout, again.stderr
    assert rows[3]["id"] + ": constant" in again.stdout


def assert_teacher_is_right(folder, text, count):
    """Of a model; returns the samples."""
    (folder / "model.py").write_text(text)
    judged = run("eval", folder / "model.py", "--backend", "cuda", "--policy", "teacher", "--samples", str(count),
                 "--coverage", "pure", "--no-time", "--json")
    assert judged.returncode == 0, judged.stderr
    samples = json.loads(judged.stdout.splitlines()[0])["samples"]
    assert samples and all(one["outcome"] == "accepted" for one in samples), samples
    return samples


TRANSPOSED = """
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(%(channels)d, %(channels)d // 8, 5, 5, 5))

    def forward(self, x):
        return F.conv_transpose3d(x, self.w, None, stride=3, padding=2, output_padding=2, groups=8)


def get_inputs():
    return [torch.randn(16, %(channels)d, 5, 5, 5)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("channels", [16, 64])
def test_remainder_classes_of_transposed_convolutions(channels, tmp_path):
    """Level 20's task 33: wrong where ptxas 12.8 optimised, as it seems for dividing each position by the stride."""
    assert_teacher_is_right(tmp_path, TRANSPOSED % {"channels": channels}, 4)


def test_suites_in_the_formats_of_others(tmp_path):
    """Models in KernelBench's format and operators with tests, judged and timed, and a page of it."""
    suites, out = pathlib.Path(__file__).resolve().parent.parent / "suites", tmp_path / "run"
    process = run("eval", suites / "levels", suites / "operator_tests", "--backend", "cuda",
                  "--samples", "2", "--seed", "3", "--json", "--out", out, timeout=600)
    assert process.returncode == 0, process.stderr
    *lines, last = [json.loads(line) for line in process.stdout.splitlines()]
    outcomes = {pathlib.Path(line["model"]).stem: line["outcome"] for line in lines}
    assert outcomes.pop("by_value") == "unusable"
    assert len(outcomes) == 12 and set(outcomes.values()) == {"verified"}, outcomes
    assert last["summary"]["eager"]["geometric_mean_right"]["tasks"] == 12
    report = run("report", out, "--json")
    assert report.returncode == 0, report.stderr
    (policy,) = json.loads(report.stdout)["policies"]
    assert policy["summary"]["eager"] == last["summary"]["eager"]
    assert (out / "report.html").read_text().count('class="ratio"') == 12


def test_what_torch_compile_writes_is_right_and_tritons_alone():
    """Products and convolutions by Inductor's own kernels too, in the configurations that were measured."""
    levels = pathlib.Path(__file__).parent.parent / "suites" / "levels"
    process = run("eval", levels, "--backend", "cuda", "--policy", "inductor", "--samples", "1", "--coverage", "pure",
                  "--no-time", "--json", timeout=600)
    assert process.returncode == 0, process.stderr
    rows = [json.loads(line) for line in process.stdout.splitlines()][:-1]
    assert len(rows) == 10
    for row in rows:
        assert row["outcome"] == "verified", (row["model"], row["reason"], [s["reason"] for s in row["samples"]])
        assert row["samples"][0]["share"] == 1


DIVIDED = """
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(%(weight)s))

    def forward(self, x):
        return F.conv_transpose2d(x, self.w, None, stride=3, groups=%(groups)s, dilation=2, %(padding)s)


def get_inputs():
    return [torch.randn(%(image)s)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("sizes", [
    {"image": "1, 8, 796, 11", "weight": "8, 36, 5, 5", "groups": 8, "padding": "padding=1, output_padding=2"},
    {"image": "33, 4, 15, 74", "weight": "4, 18, 5, 5", "groups": 4, "padding": "padding=2"},
])
def test_taps_that_the_dilation_sets_apart_in_strides(sizes, tmp_path):
    """ptxas 12.8 lost results where integer remainders or quotients said which taps reach a position."""
    samples = assert_teacher_is_right(tmp_path, DIVIDED % sizes, 12)
    assert any("direct" in one["plan"] for one in samples), samples
