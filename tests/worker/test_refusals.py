"""Everything that cannot be recorded is refused by name, at the user's own line.

The line that must be named carries the comment `# HERE`.
"""

import pathlib
import re

import pytest
import recorder

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
"""


def forward(body, args="x", inputs="[torch.randn(4, 8)]", init=""):
    lines = "\n".join("        " + line for line in body.strip().splitlines())
    return HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        %s
    def forward(self, %s):
%s

def get_inputs():
    return %s
""" % (init or "pass", args, lines, inputs)


KERNEL = HEAD + """
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

class Model(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        %s
        return y

def get_inputs():
    return [torch.randn(64)]
"""

CASES = {
    "syntax": ("syntax", HEAD + "class Model(nn.Module):\n    def forward(self x):  # HERE\n"
               "        return x\n"),
    "null byte": ("syntax", "x = 1\0\n"),
    "no class": ("missing", HEAD + "def get_inputs():\n    return []\n"),
    "no get_inputs": ("missing", HEAD + "class Model(nn.Module):\n    def forward(self):\n"
                      "        return torch.ones(3)\n"),
    "import of nothing": ("raised", HEAD + "import no_such_module_anywhere  # HERE\n"),
    "constructor raises": ("raised", forward("return x", init="raise KeyError('gamma')  # HERE")),
    "get_inputs raises": ("raised", forward("return x", inputs="[1 // 0]  # HERE")),
    "get_inputs gives no list": ("raised", forward("return x", inputs="torch.ones(3)")),
    "forward raises": ("raised", forward("y = x\nreturn y @ x.reshape(3, 5)  # HERE")),
    "exit": ("raised", forward("raise SystemExit(0)  # HERE")),
    "item": ("host-read", forward("return x * x.sum().item()  # HERE")),
    "bool": ("host-read", forward("if x.sum() > 0:  # HERE\n    return x\nreturn -x")),
    "float": ("host-read", forward("return x * float(x[0, 0])  # HERE")),
    "tolist": ("host-read", forward("return x * x[0].tolist()[0]  # HERE")),
    "numpy": ("host-read", forward("return torch.as_tensor(x.numpy())  # HERE")),
    "cpu": ("host-read", forward("return x.cpu()  # HERE")),
    "counted batches": ("host-read", forward(
        "return self.n(x)", init="self.n = nn.BatchNorm1d(4, momentum=None)",
        inputs="[torch.randn(3, 4)]")),
    "counter": ("host-read", forward(
        "self.n.add_(1)\nreturn x * self.n.item()  # HERE",
        init="self.register_buffer('n', torch.tensor(0))")),
    "to cpu": ("host-read", forward("return x.to('cpu')  # HERE")),
    "nonzero": ("host-read", forward("return x.nonzero()  # HERE")),
    "mask index": ("host-read", forward("return x[x > 0]  # HERE")),
    "equal": ("host-read", forward("return x if torch.equal(x, x * 1) else -x  # HERE")),
    "caught": ("host-read", forward(
        "try:\n    s = x.sum().item()  # HERE\nexcept BaseException:\n    s = 1.0\nreturn x * s")),
    "helper frame": ("host-read", HEAD + """
def helper(x):
    return x.max().item()  # HERE
class Model(nn.Module):
    def forward(self, x):
        return x * helper(x)
def get_inputs():
    return [torch.randn(3)]
"""),
    "operator": ("operator", forward("return torch._standard_gamma(x.abs() + 1)  # HERE")),
    "sparse": ("unsupported", forward("return torch.sparse_coo_tensor(torch.zeros(2, 3, dtype=torch.int64), "
                                      "x[0, :3], (4, 4))  # HERE")),
    "unlisted recurrent network": ("operator", forward(
        "return torch.gru(x, torch.ones(4, dtype=torch.int64), x.new_zeros(1, 1, 8),\n"
        "                 self.g._flat_weights, True, 1, 0.0, False, False)[0]",
        init="self.g = nn.GRU(8, 8)", inputs="[torch.randn(4, 8)]")),
    "complex dtype": ("operator", forward("return x.to(torch.complex32).real  # HERE")),
    "complex number": ("unsupported", forward("z = torch.complex(x, x)\nreturn z.fill_(2 + 1j).real  # HERE")),
    "address": ("address", forward("return x + x.data_ptr()  # HERE")),
    "distance of addresses": ("address", forward("n = x.data_ptr() - x.data_ptr()  # HERE\nreturn x + n")),
    "alignment that nobody knows": ("address", forward("n = x.data_ptr() % 256  # HERE\nreturn x + n")),
    "bits of an address": ("address", forward("n = x.data_ptr() & 48  # HERE\nreturn x + n")),
    "order of addresses": ("address", forward("n = x.data_ptr() < x.data_ptr()  # HERE\nreturn x + n")),
    "addresses as values": ("address", forward("return x + torch.tensor([x.data_ptr()])  # HERE")),
    "address made an int": ("address", forward("return x + int(x.data_ptr())  # HERE")),
    "address from the right": ("address", forward("return x + (1 << 48 | x.data_ptr())  # HERE")),
    "method of an address": ("address", forward("return x + x.data_ptr().bit_length()  # HERE")),
    "storage address": ("address", forward("return x + x.untyped_storage().data_ptr()  # HERE")),
    "a tensor that no memory holds": ("unsupported", forward(
        "y = torch.empty(1 << 20, 1 << 21)  # HERE\nreturn x")),
    "a view beyond all memory": ("unsupported", forward(
        "y = torch.zeros(8).expand(1 << 38, 8)  # HERE\nreturn x")),
    "strides beyond all memory": ("unsupported", forward(
        "y = x.as_strided((1,), (1 << 41,))  # HERE\nreturn x")),
    "many dimensions": ("unsupported", forward("y = torch.empty([1] * 17)  # HERE\nreturn x")),
    "nothing, of a size that no memory holds": ("unsupported", forward(
        "y = torch.empty(0, 1 << 41)  # HERE\nreturn x")),
    "a second device": ("unsupported", forward(
        "p = torch.cuda.get_device_properties(3)  # HERE\nreturn x")),
    "captured graph": ("compile-api", forward(
        "g = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(g):  # HERE\n    y = x * 2\nreturn y")),
    "replayed graph": ("compile-api", forward(
        "torch.cuda.CUDAGraph().replay()  # HERE\nreturn x")),
    "graphed callables": ("compile-api", forward(
        "return torch.cuda.make_graphed_callables(F.relu, (x,))(x)  # HERE")),
    "time of its work": ("host-read", forward(
        "a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))\n"
        "return x * a.elapsed_time(b)  # HERE")),
    "operator in machine code": ("hidden-launch", forward(
        "return torch.ops.mkldnn._linear_pointwise(x, x, None, 'none', [], '')  # HERE")),
    "state in an attribute": ("survives", forward(
        "self.h = torch.tanh(x if self.h is None else x + self.h)  # HERE\nreturn self.h", init="self.h = None")),
    "output kept": ("survives", forward(
        "if not hasattr(self, 'kept'):\n    self.kept = x * 2\nreturn self.kept")),
    "output kept by input": ("survives", forward(
        "if getattr(self, 'last', None) is x:\n    return self.out\n"
        "self.last, self.out = x, x * 2\nreturn self.out")),
    "rolling state": ("survives", forward(
        "self.w = self.w * 0.5\nreturn x + self.w", init="self.w = torch.ones(8)")),
    "scratch that changes": ("survives", forward(
        "if not hasattr(self, 't'):\n    self.t = torch.zeros(8)\n"
        "self.t += 1\nreturn x + self.t")),
    "scratch that is read, then filled": ("survives", forward(
        "if not hasattr(self, 't'):\n    self.t = torch.zeros(8)\n"
        "y = x + self.t\nself.t.fill_(1.0)\nreturn y")),
    "another call, another path": ("varies", forward(
        "self.calls = getattr(self, 'calls', 0) + 1\n"
        "return torch.relu(x) if self.calls > 2 else torch.clamp(x, min=0)")),
    "a list that computes": ("lazy", HEAD + """
class Late(list):
    def __iter__(self):
        return iter([torch.relu(t) for t in list.__iter__(self)])
class Model(nn.Module):
    def forward(self, x):
        return Late([x])
def get_inputs():
    return [torch.randn(3)]
"""),
    "a dataclass that computes": ("lazy", HEAD + """
import dataclasses
@dataclasses.dataclass
class Late:
    y: object
    @property
    def y(self):
        return torch.relu(self.x)
    @y.setter
    def y(self, value):
        self.x = value
class Model(nn.Module):
    def forward(self, x):
        return Late(x)
def get_inputs():
    return [torch.randn(3)]
"""),
    "an attribute that computes": ("lazy", HEAD + """
import dataclasses
@dataclasses.dataclass
class Late:
    y: object
    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        return torch.relu(value) if name == "y" else value
class Model(nn.Module):
    def forward(self, x):
        return Late(x)
def get_inputs():
    return [torch.randn(3)]
"""),
    "C++ beside": ("hidden-launch", HEAD + """
from torch.utils.cpp_extension import load_inline
native = load_inline("native", cpp_sources="", functions=[])  # HERE
class Model(nn.Module):
    def forward(self, x):
        return x
def get_inputs():
    return [torch.randn(3)]
"""),
    "second device": ("unsupported", forward("return x.to('cuda:1')  # HERE")),
    "strange result": ("unsupported", forward("return {1, 2}")),
    "complex pointer": ("raised", KERNEL % "kernel[(1,)](torch.complex(x, x), y, 64, BLOCK=64)"),
    "option": ("option", KERNEL % "kernel[(1,)](x, y, 64, BLOCK=64, ir_override='/tmp/a.ttir')"
               "  # HERE"),
    "option debug": ("option", KERNEL % "kernel[(1,)](x, y, 64, BLOCK=64, debug=True)  # HERE"),
    "pointer as number": ("address", KERNEL % "kernel[(1,)](x, y.data_ptr(), 64, BLOCK=64)"
                          "  # HERE"),
    "compiled kernel's secrets": (
        "unsupported", KERNEL % "k = kernel.warmup(x, y, 64, BLOCK=64, grid=(1,)); k.asm"
        "  # HERE"),
    "what the compiler says of a kernel that it refuses": (
        "compile", (KERNEL % "kernel.warmup(x, y, 64, BLOCK=64, grid=(1,)).n_regs  # HERE").replace(
            "    i = tl", "    tl.arange(0, 3)\n    i = tl")),
    "what a kernel wrote": ("host-read", KERNEL % "f = torch.tensor([0.0] * 64, device=x.device); "
                            "kernel[(1,)](x, f, 64, BLOCK=64); f[0].item()  # HERE"),
    "what an operator wrote": ("host-read", forward(
        "f = torch.tensor([0.0], device=x.device)\nf.add_(x[0, 0])\nreturn x * f.item()  # HERE")),
    "named tuple argument": ("unsupported", KERNEL % "import collections; "
                             "p = collections.namedtuple('P', 'a b')(x, x); "
                             "kernel[(1,)](p, y, 64, BLOCK=64)  # HERE"),
    "grid of a float": ("raised", KERNEL % "kernel[(x.numel() / 64,)](x, y, 64, BLOCK=64)  # HERE"),
    "grid below nothing": ("raised", KERNEL % "kernel[(-1,)](x, y, 64, BLOCK=64)  # HERE"),
    "grid that no device has": ("raised", KERNEL % "kernel[(1, 65536)](x, y, 64, BLOCK=64)  # HERE"),
    "wide grid": ("raised", KERNEL % "kernel[(2 ** 31,)](x, y, 64, BLOCK=64)  # HERE"),
    "integer of 64 bits without a sign": (
        "unsupported", KERNEL % "kernel[(1,)](x, y, 2 ** 63, BLOCK=64)  # HERE"),
    "descriptor whose rows are too short for TMA": (
        "raised", KERNEL % "from triton.tools.tensor_descriptor import TensorDescriptor as T; "
        "d = T.from_tensor(x.view(8, 8), [8, 2]); kernel[(1,)](d, y, 64, BLOCK=64)  # HERE"),
    "message that is no text": ("raised", forward("raise ValueError('\\ud800')  # HERE")),
    "launch raises": ("raised", KERNEL % "kernel[(1,)](x, y, BLOCK=64)  # HERE"),
    "unknown keyword": ("raised", KERNEL % "kernel[(1,)](x, y, 64, BLOCK=64, num_wraps=3)  # HERE"),
}


# What is no business of people: places of this machine, stand-ins for tensors, Python's and C++'s insides.
OURS = re.compile(r"(^|[\s('\"])/(?!tmp/a)\w+/|0x[0-9a-f]{6}|FakeTensor|_Recorded|Traceback|c10::|at::|std::")


@pytest.mark.parametrize("name", sorted(CASES))
def test_refused_at_its_line(name, client, tools):
    code, source = CASES[name]
    reply, _ = client.run(tools.request(source))
    assert reply["status"] == "refused", reply
    assert reply["code"] == code, reply
    assert reply["file"] == "model.py"
    assert reply["message"].encode() and "\n" not in reply["message"]
    assert not OURS.search(reply["message"]), reply
    marked = [i + 1 for i, line in enumerate(source.splitlines()) if "# HERE" in line]
    if marked:
        assert reply["line"] == marked[0], reply


def test_the_operator_is_named(client, tools):
    reply, _ = client.run(tools.request(CASES["operator"][1]))
    assert "aten._standard_gamma.default is not supported" in reply["message"]


def test_the_operator_of_the_program_is_named_when_a_part_is_missing(client, tools):
    operators = {name: how for name, how in tools.operators.items() if not name.startswith("aten.rrelu")}
    reply, _ = client.run(tools.request(forward("return F.rrelu(x, training=True)"), operators=operators))
    assert "aten.rrelu.default is not supported (a part of it: aten.rrelu_with_noise" in reply["message"]


# What a message says of the case: what was wrong, by its name, and what to do instead.
SAYS = {
    "item": "(item)", "numpy": "(numpy)", "cpu": "keep it on the device",
    "no class": "the file defines no Model, the class of the program",
    "no get_inputs": "the file defines no get_inputs, which returns forward's arguments in a list",
    "get_inputs gives no list": "get_inputs returned a tensor: return forward's arguments in a list",
    "complex pointer": "gets a tensor of complex numbers, which Triton does not have: give it torch.view_as_real(",
    "complex number": "gets the complex number (2+1j) where only a tensor can hold it: give it torch.tensor((2+1j))",
    "sparse": "is of sparse tensors, which cannot be recorded: use a dense one",
    "state in an attribute": "each call leaves another tensor behind in model.h, which the next one reads",
    "complex dtype": "dtype torch.complex32, which is not supported (supported: bfloat16, ",
    "many dimensions": "a tensor has 17 dimensions, where at most 16 are supported",
    "a second device": "uses a second device (3)",
    "strange result": "forward gives a set: it may give tensors",
    "option": "launch option ir_override of kernel kernel is not allowed (allowed: enable_fp_fusion, ",
    "pointer as number": "the program takes a tensor's address as a number",
    "compiled kernel's secrets": "the program reads asm of a compiled kernel",
    "unknown keyword": "forward raised KeyError: Keyword argument num_wraps was",
    "named tuple argument": "argument x of a kernel is a named tuple: pass a plain one",
    "grid of a float": "the grid of kernel kernel has a size of type float in dimension 0",
    "grid that no device has": "has size 65536 in dimension 1, where 0 to 65535 are possible",
    "integer of 64 bits without a sign": "argument n of kernel kernel is an integer of more than 63 bits",
    "another call, another path": "second call and another in its third",
}


@pytest.mark.parametrize("name", sorted(SAYS))
def test_a_message_says_what_to_do(name, client, tools):
    reply, _ = client.run(tools.request(CASES[name][1]))
    assert SAYS[name] in reply["message"], reply


def test_a_changed_global_is_named(client, tools):
    source = (KERNEL % "kernel[(1,)](x, y, 64, BLOCK=64); globals()['SIZE'] = 3; "
              "kernel[(1,)](x, y, 64, BLOCK=64)  # HERE").replace("(y + i, tl.load", "(y + i * SIZE, tl.load")
    source = source.replace("@triton.jit", "SIZE = 2\n\n@triton.jit")
    reply, _ = client.run(tools.request(source))
    assert "the global SIZE of kernel kernel changes after its first launch" in reply["message"], reply


def test_a_place_of_this_machine_is_not_told(client, tools):
    source = HEAD + "from torch.nn import no_such_name_anywhere  # HERE\n"
    reply, _ = client.run(tools.request(source))
    assert "cannot import name 'no_such_name_anywhere' from 'torch.nn' (torch/nn/__init__.py)" in \
        reply["message"], reply


def test_exchanged_roles_are_named(client, tools):
    reply, _ = client.run(tools.request(forward("return x").replace("class Model(", "class ModelNew(")))
    assert reply["code"] == "missing" and reply["message"] == (
        "the file defines no Model, but ModelNew: are reference and candidate in each other's "
        "place?"), reply


def test_a_dict_by_numbers_is_called_that(client, tools):
    reply, _ = client.run(tools.request(forward("return {1: x}")))
    assert "forward gives a dict whose keys are not all strings" in reply["message"]


def test_a_message_has_no_stack_of_pytorchs(client, tools):
    reply, _ = client.run(tools.request(forward("return x", inputs="[torch.randn(10 ** 23)]")))
    assert "Overflow" in reply["message"] and "frame #" not in reply["message"]


def test_unknown_job(client):
    reply, _ = client.run({"kind": "dance"})
    assert reply["status"] == "refused"


def test_a_call_of_too_many_steps_is_refused_by_count(monkeypatch):
    """Four steps are allowed here: an allocation, and three launches."""
    import launches
    import recorder
    from recording import PROFILE, operator_table
    from refusal import Refused
    monkeypatch.setattr(launches, "MOST_STEPS", 4)

    def record(count):
        source = KERNEL % ("for _ in range(%d): kernel[(1,)](x, y, 32, BLOCK=32)" % count)
        return recorder.record({"kind": "record", "source": source, "file": "model.py", "class": "Model",
                                "profile": PROFILE, "operators": operator_table(), "init_inputs": False})

    assert len(record(3)["task"]["forward"]["steps"]) == 4
    with pytest.raises(Refused) as refused:
        record(4)
    assert refused.value.code == "work"


def test_the_supervisor_knows_every_code():
    root = pathlib.Path(recorder.__file__).resolve().parent
    codes = {code for file in root.glob("*.py")
             for code in re.findall(r'\b(?:refuse|Refused)\(\s*"([a-z-]+)"', file.read_text())}
    replies = (root.parent / "src/worker/replies.cc").read_text()
    known = re.search(r"kRefusalCodes\[\] = \{(.*?)\};", replies, re.DOTALL).group(1)
    assert "work" in codes and codes <= set(re.findall(r'"([a-z-]+)"', known))
