"""Models of many shapes through the whole command line: recorded, searched, exported and recorded
again as the same program."""

import concurrent.futures
import json

import pytest

from command import run

HEAD = """
import collections
import dataclasses
import torch
import torch.nn as nn

def get_inputs():
    return [torch.randn(16, 32)]

def get_init_inputs():
    return []
"""

# what -> (model, words that optimized.py must hold)
MODELS = {
    "objects as results": (HEAD + """
Pair = collections.namedtuple("Pair", "first second")

@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    pair: Pair
    loss: object = None

class Model(nn.Module):
    def forward(self, x):
        y = torch.tanh(x) * 2.0 + x
        return Output(y, Pair(torch.relu(y - x), 3))
""", ["return Output(logits=", "pair=Pair(first=", "second=3", "loss=None"]),
    "parameters in containers": (HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.shifts = [nn.Parameter(torch.randn(32)), nn.Parameter(torch.randn(32))]
        self.table = {"scale": torch.rand(32)}
        self.layers = [nn.LayerNorm(32)]

    def forward(self, x):
        x = torch.sin(x + self.shifts[0]) * self.table["scale"] + self.shifts[1]
        return self.layers[0](x)
""", ["self.shifts[0]", 'self.table["scale"]', "self.layers[0].weight"]),
    "layers that are copied": (HEAD + """
import copy


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.Linear(32, 32)
        layer.scale = layer.shift = nn.Parameter(torch.ones(32))
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(2)])
        self.layers[1].bias.data.fill_(0.5)

    def forward(self, x):
        for layer in self.layers:
            x = torch.sigmoid(layer(x) * layer.scale) + layer.shift
        return x
""", [".scale", ".bias"]),
    "constructors that write to a tensor": (HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix, self.steps = nn.Parameter(torch.empty(32, 32)), nn.Parameter(torch.empty(32))
        nn.init.eye_(self.mix)
        with torch.no_grad():
            torch.linspace(0, 1, 32, out=self.steps)

    def forward(self, x):
        return torch.tanh(x @ self.mix + self.steps) * self.steps
""", [".mix", ".steps"]),
    "another default dtype": (HEAD + """
torch.set_default_dtype(torch.float16)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(32))

    def forward(self, x):
        steps = torch.arange(0.0, 3.2, 0.1, device=x.device) + torch.arange(32, device=x.device)
        return torch.tanh(x * self.scale + steps) + torch.ones(32, device=x.device)
""", [".scale"]),
    "buffers that change": (HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.utils.parametrizations.spectral_norm(nn.Linear(32, 32))

    def forward(self, x):
        y = self.fc(x)
        return torch.sigmoid(y) * y + torch.tanh(y)
""", ["parametrizations"]),
}


@pytest.mark.parametrize("what", MODELS)
def test_optimized_and_recorded_as_the_same(what, tmp_path):
    text, words = MODELS[what]
    (tmp_path / "model.py").write_text(text)
    process = run("optimize", tmp_path / "model.py", "--backend", "cpu", "--out", tmp_path / "out",
                  "--store", tmp_path / "store.sqlite", "--json")
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["outcome"] == "improved", process.stdout
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert verdict["outcome"] == "accepted"
    optimized = (tmp_path / "out" / "optimized.py").read_text()[len(text):]
    for word in words:
        assert word in optimized


# A reference with launches of its own is recorded and compiled; it has no float64 oracle.
# what -> (model, parameters of its kernel, arguments of its launch)
LAUNCHES = {
    "tuples": (HEAD + """
import triton
import triton.language as tl

@triton.jit
def double(x):
    return x * 2.0

@triton.jit
def scaled(pair, sizes, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n, factor = sizes[0]
    x = tl.load(pair[0] + i * sizes[2], mask=i < n) + tl.load(pair[1] + i, mask=i < n)
    tl.store(out + i, sizes[1](x) * factor, mask=i < n)

class Model(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scaled[(triton.cdiv(x.numel(), 64),)]((x, x * x), ((x.numel(), 0.5), double, 1), y, BLOCK=64)
        return torch.tanh(torch.sin(y) + x) * y
""",
               ["pair.0", "pair.1", "sizes.0.0", "sizes.0.1", "sizes.1", "sizes.2", "out", "BLOCK"],
               ["tensor", "tensor", 512, 0.5, "tensor"]),
    "descriptors": (HEAD + """
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def twice(a, b, BLOCK: tl.constexpr):
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    b.store([i, j], a.load([i, j]) * 2.0)

class Model(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        twice[(1, 2)](*(TensorDescriptor.from_tensor(t, [16, 16]) for t in (x, y)), BLOCK=16)
        return torch.tanh(torch.sin(y) + x) * y
""",
                    ["a", "a.shape.0", "a.shape.1", "a.strides.0", "a.strides.1",
                     "b", "b.shape.0", "b.shape.1", "b.strides.0", "b.strides.1", "BLOCK"],
                    ["tensor", 16, 32, 32, 1] * 2),
}


@pytest.mark.parametrize("what", LAUNCHES)
def test_launches_of_a_reference_are_recorded(what, tmp_path):
    text, parameters, arguments = LAUNCHES[what]
    (tmp_path / "model.py").write_text(text)
    process = run("record", tmp_path / "model.py", "--out", tmp_path / "out")
    assert process.returncode == 0, process.stderr
    program = json.loads((tmp_path / "out" / "program.json").read_text())
    kernel, = program["kernels"]
    assert [p["name"] for p in kernel["params"]] == parameters
    launch, = [s for s in program["forward"]["steps"] if "launch" in s]
    assert ["tensor" if isinstance(a, dict) else a for a in launch["args"]] == arguments
    tensors = [i for i, p in enumerate(kernel["params"]) if p["type"][0] in "*t"]
    assert (kernel["compiled"]["reads"], kernel["compiled"]["writes"]) == (
        tensors[:-1], tensors[-1:])


KERNELS = """
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor
"""
REFERENCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return %s

def get_inputs():
    return [torch.randn(16, 32)]

def get_init_inputs():
    return []
"""

# Tiles of a matrix, through descriptors made on the host.
SCALED_TILES = """
@triton.jit
def kernel(a, b, factor, BLOCK: tl.constexpr):
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    b.store([i, j], a.load([i, j]) * factor)
"""

# what -> (the reference's result, the candidate's kernels, its forward, other outcome than accepted)
CANDIDATES = {
    "tuples": ("torch.sin(x) * 3.0 + x", """
@triton.jit
def sine(x):
    return tl.sin(x)

@triton.jit
def kernel(tensors, numbers, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n, one = numbers[0]
    x = tl.load(tensors[0] + i * one, mask=i < n)
    tl.store(tensors[1] + i, numbers[2](x) * numbers[1] + x, mask=i < n)
""", """
y = torch.empty_like(x)
kernel[(4,)]((x, y), ((x.numel(), 1), 3.0, sine), BLOCK=128)
return y
""", None),
    "a tuple of constants": ("x * 2.0 + 3.0", """
@triton.jit
def kernel(x, y, factors: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) * factors[0] + factors[1])
""", """
y = torch.empty_like(x)
kernel[(4,)](x, y, (2.0, 3.0), BLOCK=128)
return y
""", None),
    "a tuple that is used wrongly": ("x + 1.0", """
@triton.jit
def kernel(pair, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(pair[1] + i, tl.load(pair[0] + i, mask=i < n) + 2.0, mask=i < n)
""", """
y = torch.empty_like(x)
kernel[(4,)]((x, y), x.numel(), BLOCK=128)
return y
""", "rejected"),
    "several kernels, in place, several outputs": ("(torch.exp(x) + 1.0, torch.exp(x) * x)", """
@triton.jit
def exponential(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)

@triton.jit
def finish(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    e = tl.load(y + i, mask=i < n)
    tl.store(z + i, e * tl.load(x + i, mask=i < n), mask=i < n)
    tl.store(y + i, e + 1.0, mask=i < n)
""", """
y, z = torch.empty_like(x), torch.empty_like(x)
grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
exponential[grid](x, y, x.numel(), BLOCK=64)
finish[grid](x, y, z, x.numel(), BLOCK=128)
return y, z
""", None),
    "atomics": ("x.sum(1)", """
@triton.jit
def kernel(x, y, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.atomic_add(y + row, tl.sum(tl.load(x + row * COLUMNS + i), 0))
""", """
y = x.new_zeros(x.shape[0])
kernel[(16, 4)](x, y, COLUMNS=32, BLOCK=8)
return y
""", None),
    "libdevice and half precision": ("torch.erf(x.half().float()).to(torch.bfloat16)", """
@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n).to(tl.float16).to(tl.float32)
    tl.store(y + i, libdevice.erf(v), mask=i < n)
""", """
y = torch.empty_like(x, dtype=torch.bfloat16)
kernel[(4,)](x, y, x.numel(), BLOCK=128)
return y
""", None),
    "descriptors made on the host": ("x * 2.0", SCALED_TILES, """
y = torch.empty_like(x)
a, b = (TensorDescriptor.from_tensor(t, [16, 16]) for t in (x, y))
kernel[(1, 2)](a, b, 2.0, BLOCK=16)
return y
""", None),
    "a descriptor of half the tensor": ("x * 2.0", SCALED_TILES, """
y = torch.zeros_like(x)
a, b = (TensorDescriptor(t, [8, 32], [32, 1], [16, 16]) for t in (x, y))
kernel[(1, 2)](a, b, 2.0, BLOCK=16)
return y
""", "rejected"),
    # Of inline assembly only common arithmetic is known.
    "what the interpreter cannot run": ("x.abs()", """
@triton.jit
def kernel(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.inline_asm_elementwise("copysign.f32 $0, 0f00000000, $1;", "=f,f", [tl.load(x + i)], tl.float32, True, 1)
    tl.store(y + i, v)
""", """
y = torch.empty_like(x)
kernel[(4,)](x, y, BLOCK=128)
return y
""", "not judged"),
    "descriptors made on the device": ("x * 2.0", """
@triton.jit
def kernel(x, y, M, N, BLOCK: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BLOCK, BLOCK])
    b = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BLOCK, BLOCK])
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    b.store([i, j], a.load([i, j]) * 2.0)
""", """
y = torch.empty_like(x)
triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
kernel[(1, 2)](x, y, 16, 32, BLOCK=16)
return y
""", None),
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    def judge(what):
        result, kernels, forward, _ = CANDIDATES[what]
        folder = tmp_path_factory.mktemp("kernels")
        (folder / "model.py").write_text(REFERENCE % result)
        (folder / "candidate.py").write_text(
            KERNELS + kernels + "\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
            + "".join("        %s\n" % line for line in forward.strip().splitlines()))
        process = run("verify", folder / "model.py", folder / "candidate.py", "--backend", "cpu",
                      "--json", "--trials", 1)
        assert process.returncode in (0, 1, 4), process.stderr
        return process.returncode, json.loads(process.stdout)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(CANDIDATES, pool.map(judge, CANDIDATES)))


@pytest.mark.parametrize("what", CANDIDATES)
def test_kernels_are_recorded_compiled_and_judged(what, judged):
    wanted = CANDIDATES[what][3] or "accepted"
    code, verdict = judged[what]
    assert verdict["outcome"] == wanted, verdict["reason"]
    assert code == {"accepted": 0, "rejected": 1, "not judged": 4}[wanted]
    compiled, = [s for s in verdict["stages"] if s["stage"] == "compile"]
    assert compiled["passed"]
