"""What real files do is recorded: they import what they like, annotate with classes of torch.cuda, ask for
versions and the device, work on other streams, define operators and compile functions.
"""

import pytest
import torch
from test_record import eager

import replay

REFERENCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(8))
    def forward(self, x):
        return torch.relu(x) * self.scale
def get_inputs():
    return [torch.randn(4, 8)]
"""

CANDIDATE = """
%s
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def kernel(x, w, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n), 0.0) * tl.load(w + i %% 8, mask=i < n)
    tl.store(y + i, v, mask=i < n)

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))
        self.seen = None
    def ours(self, x):
        y = torch.empty_like(x)
        kernel[(1,)](x, self.scale, y, x.numel(), BLOCK=32)
        return y
    def forward(self, x):
%s
        return self.ours(x) if answer else torch.relu(x) * self.scale
"""


def candidate(body, head=""):
    return CANDIDATE % (head, "\n".join("        " + line for line in body.strip().splitlines()))


def record(client, tools, source, **changes):
    harness = {"source": REFERENCE, "file": "model.py"}
    return client.run(tools.request(source, "ModelNew", harness=harness, file="candidate.py",
                                    **changes))[0]


# name -> body of forward, or (body, head): `answer` is what a user's process with a GPU says
ANSWERED = {
    "unused imports": ("answer = Path('a').name == 'a'", "import gc, inspect, os, sys, threading, time\n"
                       "from pathlib import Path\nfrom time import perf_counter"),
    "importlib": ("answer = found is not None and importlib.import_module('math').pi > 3",
                  "import importlib, importlib.util\nfound = importlib.util.find_spec('torch')"),
    "optional library": ("answer = not found", "from importlib.util import find_spec\n"
                         "found = find_spec('no_such_library_at_all') is not None"),
    "inspect": ("answer = 'configs' in inspect.signature(triton.autotune).parameters", "import inspect"),
    "source of its own": ("answer = 'def forward' in inspect.getsource(type(self).forward)\n"
                          "answer = answer and 'tl.store' in inspect.getsource(kernel.fn)",
                          "import inspect"),
    "packaging": ("answer = version.parse(triton.__version__) >= version.parse('3.0')\n"
                  "answer = answer and version.parse(torch.version.cuda).major >= 11",
                  "from packaging import version"),
    "Config": ("answer = Config({'BLOCK': 1}).num_warps == 4",
               "from triton.runtime.autotuner import Config"),
    "class pattern": "answer = False\nmatch x:\n    case torch.Tensor():\n        answer = True",
    "types": "answer = type(x) is torch.Tensor and type(self.scale) is nn.Parameter\n"
             "answer = answer and type(x + 1).__name__ == 'Tensor'\n"
             "answer = answer and type(int) is type and isinstance(nn.Module, type)\n"
             "answer = answer and type('A', (nn.Module,), {}).__name__ == 'A' and issubclass(type, object)",
    "metaclasses": ("answer = type(A) is Meta and A().value == 3 and Abstract.__name__ == 'Abstract'",
                    "import abc\nclass Meta(type):\n    pass\nclass A(metaclass=Meta):\n    value = 3\n"
                    "Abstract = type('Abstract', (abc.ABC,), {})\n"
                    "def f(kind: type[int] | None = None):\n    return kind"),
    "private of torch": ("answer = get_raw_stream(0) == 0\n"
                         "assert_size_stride(x, (4, 8), (8, 1))\n"
                         "y = torch._C._dynamo.guards._empty_strided_cuda((4, 8), (8, 1), torch.float32)\n"
                         "z = torch._C._dynamo.guards._reinterpret_tensor(y, (8, 4), (4, 1), 0)\n"
                         "answer = answer and y.is_cuda and z.shape == (8, 4)",
                         "from torch._C import _cuda_getCurrentRawStream as get_raw_stream\nimport torch\n"
                         "assert_size_stride = torch._C._dynamo.guards.assert_size_stride"),
    "DTensor": ("answer = not isinstance(x, DTensor)", "from torch.distributed.tensor import DTensor"),
    "parametrizations": ("answer = isinstance(weight_norm(nn.Linear(8, 8)), nn.Linear)",
                         "from torch.nn.utils.parametrizations import weight_norm"),
    "annotations": ("answer = f(None) is None and issubclass(Mine, torch.cuda.Stream)",
                    "import torch\nfrom typing import Optional, Union\n"
                    "def f(s: Optional[torch.cuda.Stream], e: torch.cuda.Event | None = None,\n"
                    "      g: Union[torch.cuda.CUDAGraph, int] = 0, d: 'torch.cuda.device' = 0):\n"
                    "    return s\n"
                    "class Mine(torch.cuda.Stream):\n    pass"),
    "instances": "s = torch.cuda.current_stream()\n"
                 "answer = isinstance(s, torch.cuda.Stream) and isinstance(s, torch.Stream)\n"
                 "answer = answer and not isinstance(s, torch.cuda.ExternalStream)\n"
                 "answer = answer and isinstance(torch.cuda.Event(enable_timing=True), torch.cuda.Event)\n"
                 "answer = answer and torch.cuda.device is not torch.cuda.device_of",
    "streams are equal or not": "s, t = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)\n"
                                "answer = torch.cuda.current_stream() == torch.cuda.default_stream()\n"
                                "answer = answer and s != t and s.cuda_stream != t.cuda_stream\n"
                                "answer = answer and len({s, t, torch.cuda.current_stream()}) == 3\n"
                                "with torch.cuda.stream(s):\n"
                                "    answer = answer and torch.cuda.current_stream() == s\n"
                                "    with torch.cuda.stream(t):\n"
                                "        answer = answer and torch.cuda.current_stream() == t\n"
                                "    answer = answer and torch.cuda.current_stream() == s\n"
                                "answer = answer and torch.cuda.current_stream() != s",
    "no stream": "with torch.cuda.stream(None):\n    answer = True",
    "devices": "with torch.cuda.device(x.device), torch.cuda.device(0), torch.cuda.device_of(x), \\\n"
               "        torch.cuda.device(None), torch.cuda._DeviceGuard(0):\n"
               "    answer = torch.cuda.current_device() == 0 and torch.cuda.device_count() == 1",
    "accelerator": "a = torch.accelerator\n"
                   "answer = a.is_available() and a.current_accelerator().type == 'cuda'",
    "assertions on the device": "torch._assert_async(x.sum() == x.sum(), 'a sum')\nanswer = True",
    "locks of processes": ("with LOCK, AGAIN, AGAIN:\n    answer = True",
                           "import multiprocessing\nLOCK, AGAIN = multiprocessing.Lock(), "
                           "multiprocessing.RLock()"),
    "clocks by Triton": "answer = triton.testing.nvsmi(['clocks.max.sm', 'clocks.max.memory'])[0] > 500",
    "environment": ("answer = os.environ.get('NO_SUCH_SWITCH', '0') == '0'", "import os"),
    "modules of the worker's names": ("answer = True\ntry:\n    import recorder\n    answer = False\n"
                                      "except ImportError:\n    pass"),
    "globals and eval": "answer = eval('1 + 1') == 2 and 'kernel' in globals() and vars(self) is not None",
    "text of a tensor": "answer = 'size' in repr(x) or 'shape' in str(x)",
    "a weak reference": ("answer = weakref.ref(x)() is x", "import weakref"),
    "random state": ("answer = random.random() < 2", "import random"),
    "a version": "answer = self.scale._version >= 0",
    "batch norms of cuDNN": "w = self.scale\ny = torch.cudnn_batch_norm(x, w, w, w, w, False, 0.1, 1e-5)[0]\n"
                            "answer = y.shape == x.shape",
    "is it compiled": "answer = not torch.compiler.is_compiling()",
    "an error of an operator, caught": "answer = False\ntry:\n    x @ x\nexcept RuntimeError:\n"
                                       "    answer = True",
}


@pytest.mark.parametrize("name", ANSWERED)
def test_answered_as_where_there_is_a_gpu(client, tools, name):
    body, head = ANSWERED[name] if isinstance(ANSWERED[name], tuple) else (ANSWERED[name], "")
    reply = record(client, tools, candidate(body, head))
    assert reply["status"] == "ok", reply
    assert any("launch" in step for step in reply["task"]["forward"]["steps"])


def test_the_library_is_asked_at_its_import(client, tools):
    """As torchvision asks its machine code for CUDA's version."""
    reply = record(client, tools, candidate(
        "answer = torch.ops.mkldnn._is_mkldnn_bf16_supported() in (True, False)"))
    assert reply["status"] == "ok", reply
    assert any("launch" in step for step in reply["task"]["forward"]["steps"])


MODELS = {
    "another stream": """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream() if torch.cuda.is_available() else None
    def forward(self, x):
        if self.side is None:
            return torch.tanh(x * 2) + 1
        done = torch.cuda.Event()
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            y = x * 2
            y.record_stream(self.side)
            done.record()
        z = torch.cuda.current_stream()
        done.wait(z)
        z.wait_event(done)
        return torch.tanh(y) + 1
def get_inputs():
    return [torch.randn(4, 8)]
""",
    "compiled": """
import torch
@torch.compile(fullgraph=True)
def twice(x):
    return x * 2
@torch.compile
def unused(x):
    return x.nonzero()
@torch.compiler.disable(recursive=False)
def plus(x):
    return x + 1
@torch.compiler.disable
def minus(x):
    return x - 3
@torch.jit.script
def root(x, n: int):
    return x + torch.sqrt(torch.tensor(n, dtype=torch.float))
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.compile(torch.nn.Linear(8, 8), mode="max-autotune")
        self.other = torch.nn.Linear(8, 8)
        self.other.compile()
    def forward(self, x):
        return minus(plus(root(twice(self.inner(x)), 3))) + self.other(x) + self.inner.bias
def get_inputs():
    return [torch.randn(4, 8)]
""",
    "custom operators": """
import torch
from torch import Tensor
space = "of_a_test_%d" % id(object())
@torch.library.custom_op(space + "::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    return x * 2
@twice.register_fake
def _(x):
    return torch.empty_like(x)
@torch.library.custom_op(space + "::add_to", mutates_args=("x",))
def add_to(x: Tensor, y: Tensor) -> None:
    x.add_(y)
@torch.library.custom_op(space + "::unused", mutates_args=())
def unused(x: Tensor) -> Tensor:
    return x.nonzero()
torch.library.define(space + "::old", "(Tensor x, float s) -> Tensor")
@torch.library.impl(space + "::old", "default")
def old(x, s):
    return x * s
@torch.library.register_fake(space + "::old")
def _(x, s):
    return x
class Model(torch.nn.Module):
    def forward(self, x):
        y = twice(x)
        add_to(y, x)
        return getattr(torch.ops, space).old(y, 0.5)
def get_inputs():
    return [torch.randn(4, 8)]
""",
}


@pytest.mark.parametrize("name", MODELS)
def test_the_program_is_what_the_file_does(client, tools, name):
    reply, _ = client.run(tools.request(MODELS[name]))
    assert reply["status"] == "ok", reply
    state, arguments, result, _ = replay.run_task(reply["task"])
    plain = MODELS[name].replace("@torch.compile(fullgraph=True)\n", "").replace(
        "@torch.compile\n", "").replace("@torch.jit.script\n", "").replace('torch.compile(torch.nn.Linear(8, 8), mode="max-autotune")',
                                        "Wrapped(torch.nn.Linear(8, 8))")
    plain = plain.replace("class Model", """class Wrapped(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self._orig_mod = module
        self.bias = module.bias
    def forward(self, x):
        return self._orig_mod(x)
class Model""", 1).replace("self.other.compile()", "pass")
    _, expected = eager(plain, state, reply["task"]["state"], arguments, 0)
    torch.testing.assert_close(result, expected)


def test_a_compiled_module_has_the_names_that_pytorch_gives_it(client, tools):
    reply, _ = client.run(tools.request(MODELS["compiled"]))
    names = [name for entry in reply["task"]["state"] for name in entry["names"]]
    real = torch.nn.Module()
    real.inner = torch.compile(torch.nn.Linear(8, 8))
    assert set(real.state_dict()) <= set(names)


def test_a_compiled_module_is_pytorchs(client, tools):
    source = """
import torch
from torch._dynamo.eval_frame import OptimizedModule
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout()))
        self.eval()
        assert isinstance(self.inner, OptimizedModule) and len(self.inner) == 2
    def forward(self, x):
        return self.inner(x)
def get_inputs():
    return [torch.randn(4, 8)]
"""
    reply, _ = client.run(tools.request(source))
    assert reply["status"] == "ok", reply
    assert [step["op"] for step in reply["task"]["forward"]["steps"]] == ["aten.linear.default"]
    told = reply["task"]["source"]["modules"]["inner._orig_mod.1"]
    assert told["class"] == "torch.nn.modules.dropout.Dropout" and told["settings"]["training"] is False


def test_a_launch_in_a_custom_operator_is_recorded(client, tools):
    for decorator, call in (("custom_op('tests_of::a', mutates_args=())", "kernel"),
                            ("triton_op('tests_of::b', mutates_args=())",
                             "torch.library.wrap_triton(kernel)")):
        source = candidate("answer = True").replace("class ModelNew", """
@torch.library.%s
def ours(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    %s[(1,)](x, w, y, x.numel(), BLOCK=32)
    return y

class ModelNew""" % (decorator, call)).replace("self.ours(x)", "ours(x, self.scale)")
        reply = record(client, tools, source)
        assert reply["status"] == "ok", reply
        assert [list(step)[0] for step in reply["task"]["forward"]["steps"]] == ["op", "launch"]


def test_what_was_asked_of_the_device_is_named(client, tools):
    body = """
p = torch.cuda.get_device_properties(x.device)
q = triton.runtime.driver.active.utils.get_device_properties(0)
answer = p.multi_processor_count == q["multiprocessor_count"] == 132
answer = answer and torch.cuda.get_device_capability() == (9, 0) and p.L2_cache_size > 0
"""
    reply = record(client, tools, candidate(body))
    asked = reply["task"]["source"]["device"]
    assert list(asked) == ["L2_cache_size", "multi_processor_count"] and asked["multi_processor_count"] == 132
    assert record(client, tools, candidate("answer = x.is_cuda"))["task"]["source"]["device"] == {}


ADDRESSES = """
y = torch.empty_like(x)
v, w = x.view(-1)[4:], x.view(-1)[1:]
answer = (x.data_ptr() % 16 == 0 and v.data_ptr() & 15 == 0 and w.data_ptr() % 16 == 4 and w.data_ptr() % 2 == 0
          and 7 & w.data_ptr() == 4)
"""
COMPARED = """
y, v, w = torch.empty_like(x), x.view(-1)[4:], x.view(-1)[1:]
known = {x.data_ptr(): "x", w.data_ptr(): "w"}
answer = (x.data_ptr() == x.view(-1).data_ptr() != w.data_ptr() and y.data_ptr() != x.data_ptr()
          and known.get(y.data_ptr()) is None and known[x.view(-1)[1:].data_ptr()] == "w"
          and v.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() == x.data_ptr()
          and x[:0].data_ptr() == 0 and not y[:0].data_ptr() and bool(x.data_ptr()) and x.data_ptr() != 1
          and len({str(x.data_ptr()), str(y.data_ptr())}) == 2)
"""
# What an export sees of a model that is as it was: the same places are so in every call.
FOUND_AGAIN = """
answer = [(x.data_ptr(), x.shape)] == [(x.view(-1).data_ptr(), x.shape)] and x.data_ptr() == x.data_ptr()
"""


AS_TEXTS = ["answer = str(x.data_ptr()) == str(x.view(-1).data_ptr())",
            "answer = f'{x.data_ptr():x}' == f'{x.view(-1).data_ptr():x}'",
            "answer = '%s' % x.data_ptr() == '%s' % x.view(-1).data_ptr()"]


@pytest.mark.parametrize("body,aligned,compared", [(ADDRESSES, True, None), (COMPARED, None, True),
                                                   (FOUND_AGAIN, None, None),
                                                   *((body, None, True) for body in AS_TEXTS)])
def test_addresses_may_be_compared_and_their_alignment_is_noted(client, tools, body, aligned, compared):
    """The body says the same of PyTorch's addresses, which are multiples of 64."""
    known = {"x": torch.empty(16, 8), "torch": torch}
    exec(body, known)
    assert known["answer"] is True
    reply = record(client, tools, candidate(body))
    assert reply["status"] == "ok", reply
    source = reply["task"]["source"]
    assert source.get("aligned") is aligned and source.get("compares_addresses") is compared


def test_a_file_that_says_another_thing_in_its_third_call_has_no_meaning(client, tools):
    reply = record(client, tools, candidate("self.n = getattr(self, 'n', 0) + 1\nanswer = self.n < 3"))
    assert (reply["status"], reply.get("code")) == ("refused", "varies"), reply


# As in Triton's tutorial on softmax: the grid has as many programs as fit on the device at once, and
# the compiled kernel itself is called.
OCCUPANCY = """
k = kernel.warmup(x, self.scale, x, x.numel(), BLOCK=32, num_warps=2, grid=(1,))
k._init_handles()
p = triton.runtime.driver.active.utils.get_device_properties(x.device.index)
fit = p["max_num_regs"] // (k.n_regs * p["warpSize"] * k.metadata.num_warps)
if k.metadata.shared:
    fit = min(fit, p["max_shared_mem"] // k.metadata.shared)
y = torch.empty_like(x)
k[(fit, 1, 1)](x, self.scale, y, x.numel(), 32)
assert k.n_spills == 0
return y
"""


def test_the_compiler_is_asked_for_registers(client, tools):
    source = candidate(OCCUPANCY + "answer = True")
    reply = record(client, tools, source)
    assert reply["status"] == "ok", reply
    built, _ = client.run({"kind": "compile", "source": source, "file": "candidate.py",
                           "arch": "sm_90", "kernels": reply["kernels"]})
    compiled = built["kernels"][0]["kernel"]["compiled"]
    launch, = [step for step in reply["task"]["forward"]["steps"] if "launch" in step]
    assert compiled["shared"] == 0 and compiled["num_warps"] == 2
    assert launch["grid"] == [65536 // (compiled["registers"] * 32 * 2), 1, 1]
    assert len(launch["args"]) == 4


def test_the_file_itself_still_starts_no_programs(client, tools):
    body = """
import os, subprocess
for start in (os.fork, lambda: subprocess.run(["/bin/true"])):
    try:
        start()
        raise SystemExit("it started")
    except OSError:
        pass
answer = kernel.warmup(x, self.scale, x, x.numel(), BLOCK=32, grid=(1,)).n_regs > 0
"""
    reply = record(client, tools, candidate(body))
    assert reply["status"] == "ok", reply
