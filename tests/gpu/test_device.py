"""What only a GPU can show: launches that break the device, and the executor's recovery from them.

`bench/gpu.sh test` runs these on a GPU host; elsewhere they are skipped.
"""

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
