"""What messages say to write instead of a name that means nothing in a kernel: it must be right."""

import ast

import pytest
from test_kernels import TRITON, compile_body

import advice
from language import MODULES, allowed_member

LIBDEVICE = {**TRITON, "libdevice": {"module": "triton.language.extra.libdevice"}}

# The names that expressions of the table have.
VALUES = """    x = tl.load(p + tl.arange(0, 64))
    y, m, n, correction = x + 1.0, tl.sum(x, 0), 64, 1
    low, high, weight = 0.0, 1.0, 0.5
    i, j = tl.arange(0, 64), tl.arange(0, 64) + 1
    a = tl.reshape(tl.load(p + tl.arange(0, 256)), (16, 16))
    b = a + 1.0
"""
HEAD = "@triton.jit\ndef kernel(x):\n    p = x + tl.arange(0, 64)\n"


@pytest.mark.parametrize("text", sorted(advice._SAME))
def test_each_expression_compiles(text, client):
    values = VALUES.replace("p + ", "x + ")
    values = values.replace("    x = tl.load(x + tl.arange(0, 64))\n", "    v = tl.load(p)\n")
    values = values.replace("= x + 1.0, tl.sum(x, 0)", "= v + 1.0, tl.sum(v, 0)")
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "x":
            node.id = "v"
    text = ast.unparse(tree).replace(" and ", ", ")
    reply = compile_body(client, values + "    result = %s\n" % text, LIBDEVICE, head=HEAD)
    assert reply["status"] == "ok", reply


def test_each_dtype_is_one_of_triton():
    for name in advice._DTYPES:
        found = advice._dtype(name)
        assert found and allowed_member(MODULES["triton.language"], found.removeprefix("tl.")), name


def test_a_name_is_told_one_way():
    names = " ".join(advice._SAME.values()).split()
    assert len(names) == len(set(names)) and not set(names) & set(advice._ADVICE)


@pytest.mark.parametrize("name, says", [
    ("exp", "use tl.exp"), ("tanh", "use libdevice.tanh (from triton.language.extra import libdevice)"),
    ("log1p", "use libdevice.log1p (from triton.language.extra import libdevice)"),
    ("relu", "write tl.maximum(x, 0.0)"), ("matmul", "write tl.dot(a, b)"),
    ("bfloat16", "use tl.bfloat16"), ("half", "use tl.float16"), ("qqqqqq", ""), ("range", ""),
    ("extra", ""), ("_log2", ""), ("constexpr", "")])
def test_a_name_of_elsewhere_is_found(name, says):
    assert advice.instead(name) == says


@pytest.mark.parametrize("name, meant", [
    ("stor", "store"), ("sgmoid", "sigmoid"), ("progam_id", "program_id"), ("arrange", "arange"),
    ("tahn", ""), ("foo", ""), ("qqqqqq", ""), ("zzeros_lik", "zeros_like"), ("sun", "")])
def test_what_is_close_is_one_edit_in_four_letters_away(name, meant):
    assert advice._close(name, [name for name in dir(MODULES["triton.language"])
                                if not name.startswith("_")]) == meant


HELP = "(from triton.language.extra import libdevice)"
MESSAGES = {
    "y = tl.stor(x, 1.0)": "tl.stor does not exist: is it tl.store?",
    "y = tl.qqqqqq(x)": "tl.qqqqqq does not exist",
    "y = tl.tanh(x)": "tl.tanh does not exist: use libdevice.tanh " + HELP,
    "y = tl.math.tanh(x)": "tl.math.tanh does not exist: use libdevice.tanh " + HELP,
    "y = libdevice.tahn(x)": "libdevice.tahn does not exist: is it libdevice.tanh?",
    "y = libdevice.maximum(x, x)": "libdevice.maximum does not exist: use tl.maximum",
    "y = tl.libdevice.tanh(x)": "tl.libdevice does not exist: import it: from triton.language.extra "
                                "import libdevice",
    "y = triton.exp(x)": "triton.exp does not exist: use tl.exp",
    "y = tl.core": "tl.core is a module, and no value: name what you mean in it, such as tl.core.NAME",
    "y = tl": "tl is a module, and no value: name what you mean in it, such as tl.NAME",
    "y = triton.runtime.driver": "triton.runtime is not allowed: kernels may use the public functions and "
                                 "types of triton.language and libdevice",
    "y = x.float()": "x.float does not exist in a kernel: write x.to(tl.float32)",
    "v = tl.load(x)\ny = v.mean()": "v.mean does not exist in a kernel: write tl.sum(v, 0) / n",
    "y = x.tanh()": "x.tanh does not exist in a kernel: use libdevice.tanh " + HELP,
    "y = x.dtyp": "x.dtyp does not exist in a kernel: is it dtype?",
    "y = x.__class__": "the attribute __class__ is not allowed in a kernel, as it is not public",
    "y = sum(x)": "Python's sum is not allowed in a kernel: use tl.sum",
    "print(x)": "Python's print is not allowed in a kernel: write tl.device_print('x', x)",
    "y = open(x)": "Python's open is not allowed in a kernel",
    "y = arange(0, 4)": "arange is not defined: use tl.arange",
    "offsets = 1\ny = ofsets": "ofsets is not defined: is it offsets?",
    "y = qqqqqq": "qqqqqq is not defined: assign it in the kernel, pass it as an argument, or define it in "
                  "the file as a number or a @triton.jit function",
    "f = lambda v: v": "a lambda is not allowed: define a @triton.jit function at module level",
    "y = {1: 2}": "a dict is not allowed: use a tuple",
    "import math": "an import is not allowed: import at the top of the file",
}


@pytest.mark.parametrize("body", sorted(MESSAGES))
def test_what_a_kernel_may_not_say(body, client):
    lines = "".join("    %s\n" % line for line in body.split("\n"))
    reply = compile_body(client, lines, LIBDEVICE)
    assert (reply["code"], reply["message"]) == ("slice", "in kernel function kernel, " + MESSAGES[body])
    assert reply["line"] == 2 + len(body.split("\n"))


def test_the_module_that_defines_the_language_is_the_language(client):
    bindings = {**TRITON, "core": {"module": "triton.language.core"}}
    reply = compile_body(client, "    y = core.arange(0, 4) + tl.core.arange(0, 4)\n", bindings)
    assert reply["status"] == "ok", reply
    reply = compile_body(client, "    y = core.stor(x, 1.0)\n", bindings)
    assert reply["message"].endswith("core.stor does not exist: is it core.store?"), reply


FILE = """
import functools
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
from triton.language.extra.cuda import utils

def helper(v):
    return v

class Kind:
    SIZE = 3

W, L, S, D = torch.ones(3), [1, 2], np.float32(2), torch.float16
T = tl.constexpr((1, 2))
P = functools.partial(tl.sum, axis=0)

@triton.jit
def double(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(y + i, %s)

class Model(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double[(1,)](x, y, BLOCK=64)
        return y

def get_inputs():
    return [torch.randn(64)]
"""
GLOBALS = {
    "torch.exp(v)": "torch.exp, a part of PyTorch that cannot run in a kernel: use tl.exp",
    "F.silu(v)": "F.silu, a part of PyTorch that cannot run in a kernel: write x * tl.sigmoid(x)",
    "nn.functional.tanh(v)": "nn.functional.tanh, a part of PyTorch that cannot run in a kernel: use "
                             "libdevice.tanh " + HELP,
    "np.sqrt(v)": "np.sqrt, a part of numpy that cannot run in a kernel: use tl.sqrt",
    "np.gone(v)": "np.gone, which the module numpy does not have",
    "math.exp(v)": "math.exp, a part of Python's module math that cannot run in a kernel: use tl.exp",
    "v.to(torch.bfloat16)": "torch.bfloat16, a dtype of PyTorch: use tl.bfloat16",
    "v.to(D)": "D, a dtype of PyTorch: use tl.float16",
    "helper(v)": "helper, a Python function without @triton.jit: decorate it, and it is compiled into the "
                 "kernel",
    "v * Kind.SIZE": "Kind, a class: use numbers and @triton.jit functions at module level",
    "v * W": "W, a tensor: pass it as an argument of the kernel",
    "v * L[0]": "L, a list: pass what it holds as arguments, or give each item a name of its own",
    "v * S": "S, a number of numpy: make it a Python number by int() or float()",
    "v * T[0]": "T, a tl.constexpr of a tuple: make it one of a number, a text, a boolean or a dtype, or "
                "pass it as an argument",
    "P(v)": "P, a part of Python's module functools that cannot run in a kernel",
    "utils.globaltimer()": "utils.globaltimer, a part of Triton that is not allowed in a kernel: kernels may "
                           "use the public functions and types of triton.language and libdevice",
}


@pytest.mark.parametrize("text", sorted(GLOBALS))
def test_a_global_that_no_kernel_can_use_is_named_where_it_is_used(text, client, tools):
    source = FILE % text
    reply, _ = client.run(tools.request(source))
    assert reply["message"] == "kernel function double uses " + GLOBALS[text], reply
    assert "tl.store" in source.splitlines()[reply["line"] - 1]
    assert (reply["code"], reply["file"]) == ("unsupported", "model.py")
