"""What optimized.py may hold after the reference's text: a list of forms, written down apart from the
C++ that writes them (src/program/python).

    python tests/export_forms.py [COUNT]      checks exports of hostile Tasks: of COUNT mutations, and
                                              of 32 variants of each that is not refused

check() refuses a text whose syntax tree has anything else. It says nothing of the bodies of kernels,
which are slices.
"""

import ast
import functools
import hashlib
import json
import os
import re
import subprocess
import sys

from command import ROOT
from recording import operator_table

SEEDS = ROOT / "tests/fuzz/export"
DTYPES = set("float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split())
TORCH_NAMES = DTYPES | {"strided", "contiguous_format", "preserve_format", "channels_last",
                        "channels_last_3d"}
TRITON_DTYPES = set("float16 bfloat16 float32 float64 int1 int8 int16 int32 int64 uint8 uint16 uint32 "
                    "uint64".split())
METHODS = set("view transpose permute expand unsqueeze squeeze select t reshape clone contiguous copy_ zero_ fill_ new_empty "
              "new_zeros new_ones new_full".split())
FUNCTIONS = {"torch." + name for name in
             "empty empty_like empty_strided zeros zeros_like ones ones_like full full_like tensor cat add sub mul div relu sigmoid tanh exp sqrt rsqrt softmax log_softmax sum "
             "mean mm bmm matmul addmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
             "conv_transpose3d max_pool2d layer_norm group_norm batch_norm embedding".split()}
FUNCTIONS |= {"torch.nn.functional." + name
              for name in "silu gelu linear scaled_dot_product_attention".split()}
FUNCTIONS |= {"torch.ops." + name for name in operator_table()}
OPTIONS = {"num_warps": int, "num_ctas": int, "num_stages": int, "maxnreg": int,
           "enable_fp_fusion": bool, "launch_pdl": bool, "launch_cooperative_grid": bool}
TRITON_MODULES = {"triton." + name for name in (
    "language", "language.math", "language.standard", "language.extra", "language.extra.libdevice", "language.extra.cuda",
    "language.extra.cuda.libdevice")} | {"triton"}
FROM_TRITON = {"language", "cdiv", "next_power_of_2"}
# What the text uses: a slice must not give these another meaning.
USED = {"torch", "ModelNew", "zip", "isinstance", "len", "list", "dict", "tuple", "str", "int",
        "bool", "float", "type", "super", "getattr", "any", "all", "id", "object", "set", "sorted", "AttributeError",
        "LookupError", "RuntimeError", "TypeError", "self", "args", "kwargs", "key", "made", "tensors",
        "derived", "bound", "call", "where", "why", "hasattr"}
DANGEROUS = {"exec", "eval", "open", "compile", "print", "input", "exit", "quit", "setattr", "delattr",
             "globals", "locals", "vars", "breakpoint", "map", "filter", "help"}

IMPORTS = """
import ctypes as _kw_ctypes
import enum as _kw_enum
import functools as _kw_functools
import gc as _kw_gc
import operator as _kw_operator
import threading as _kw_threading
import time as _kw_time
import torch
import triton as _kw_triton
import types as _kw_types
import warnings as _kw_warnings
import weakref as _kw_weakref
import triton.tools.tensor_descriptor as _kw_descriptors
"""
DEVICE = """
_kw_interpreted = _kw_triton.knobs.runtime.interpret
_kw_device = "cpu" if _kw_interpreted else "cuda"
"""
IS_JUDGED = """
def _kw_is_judged(device):
    "..."
    if device not in _kw_judged:
        gpu = torch.cuda.get_device_properties(device)
        _kw_judged[device] = ...
    return _kw_judged[device]
"""
PROPERTIES = {"name", "total_memory", "multi_processor_count", "L2_cache_size", "regs_per_multiprocessor",
              "shared_memory_per_block", "shared_memory_per_block_optin", "shared_memory_per_multiprocessor",
              "max_threads_per_multi_processor", "max_threads_per_block", "warp_size", "is_integrated",
              "is_multi_gpu_board"}
ALIGNED = """
        if tensor.storage_offset() * tensor.element_size() % 16:
            return name + "..."
"""
MISFIT = """
def _kw_misfit(tensors, expected):
    "..."
    for tensor, (name, dtype, shape, strides) in zip(tensors, expected):
        if not isinstance(tensor, torch.Tensor):
            return name + " is no tensor"
        wraps = type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
        if tensor.layout != torch.strided or tensor.is_nested or wraps:
            return name + "..."
        if not (tensor.is_cuda != _kw_interpreted and tensor.dtype == dtype and tensor.shape == shape
                and tensor.stride() == strides and not (tensor.is_neg() or tensor.is_conj())):
            found = (str(tensor.device), tensor.dtype, tuple(tensor.shape), tensor.stride())
            recorded = (_kw_device, dtype, shape, strides)
            return "..." % (name, found, recorded)
ALIGNED
    device = -1 if _kw_interpreted else torch.cuda.current_device()
    if not {tensor.get_device() for tensor in tensors} <= {device}:
        return "..."
    if not (_kw_interpreted or _kw_is_judged(device)):
        return "..."
    if torch.is_autocast_enabled(_kw_device):
        return "autocast is on"
    if torch._C._are_functorch_transforms_active() or torch.jit.is_tracing():
        return "..."
    if torch.get_default_dtype() != torch.DEFAULT:
        return "PyTorch's default dtype is another one"
    differentiates = torch.autograd.forward_ad._current_level >= 0
    if differentiates or torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return "..."
    return None
"""
# Functions and classes that are always the same: the hashes of their texts (`--fixed` prints them). Read their text in
# an export before you put another hash here.
FIXED = {
    "_kw_laid_out": ["7d3d665a081baa01"],
    "_kw_placed": ["014f57a5faa096fd"],
    "_kw_is_same": ["5da0e749d12bada0"],
    "_kw_lie_as": ["55141e93957bc056", "096b43306b1a1799"],
    "_kw_items": ["a8ed96622688041f"],
    "_kw_name_of": ["134c10577bc46d5a"],
    "_kw_plain": ["111c3c291afbe486"],
    "_kw_described": ["5dac4b8ed28f7b1e"],
    "_kw_change": ["c121add78b256890"],
    "_kw_kept": ["2673857a28175d3f"],
    "_kw_Host": ["1add4b88210bc2d8"],
    "_kw_found_host": ["dd440b8be51cbb7b"],
    "_kw_modes": ["63ac09f7bb4d7432"],
    "_kw_Call": ["417df3e1630cec4a"],
    "_kw_Bound": ["faa12db712a5a313", "818bca80f71a2700"],
    "_kw_graph_settings": ["e4a6de82a69cfd03"],
    "_kw_found_settings": ["8b7ee5f9b99cea3c"],
    "_kw_numerics": ["4065d767ebc9d20f"],
    "_kw_is_watched": ["8c28bdc1e7dc34b0"],
    "_kw_seconds": ["d1767300cb3c9852"],
    "_kw_Cuda": ["f4080d0887b826ad"],
    "_kw_Graph": ["ca8b521cd8398680"],
    "_kw_Graphs": ["1b8da7ec5b357fef"],
    "_kw_Made": ["038e0c9a1b161f74"],
    "_kw_are_tables": [],
    "_kw_Launch": ["8ce240ee35eee2d6"],
}
GRAPHS = {"_kw_graph_settings", "_kw_found_settings", "_kw_is_watched", "_kw_Cuda", "_kw_numerics", "_kw_seconds", "_kw_Graph", "_kw_Graphs"}
# What one of these is followed by.
OBJECTS = {"_kw_found_host": "_kw_host = _kw_found_host()", "_kw_Cuda": "_kw_cuda = _kw_Cuda()",
           "_kw_found_settings": "_kw_settings = _kw_found_settings()"}
DESCRIPTOR = "_kw_descriptors.TensorDescriptor"
OPTIONAL = GRAPHS | {"_kw_placed", "_kw_laid_out", "_kw_is_same", "_kw_lie_as", "_kw_Made", "_kw_are_tables", "_kw_Launch"}
ORIGINAL = """
def _kw_original(self, args, kwargs, why):
    if not self.__dict__.get("_kw_warned"):
        self.__dict__["_kw_warned"] = True
        _kw_warnings.warn("ModelNew: running the original forward, because " + why)
    return super().forward(*args, **kwargs)
"""
GRAPHED = ["""
def _kw_graphed_by(self, wanted=True, copies=True, limit=None):
    "..."
    self.__dict__["_kw_graphed"] = _kw_graph_settings(wanted, copies, limit)
    self.__dict__.pop("_kw_bound", None)
    return self
""", """
def _kw_graphed_by(self, wanted=True, copies=True, limit=None):
    "..."
    if wanted:
        _kw_warnings.warn("...")
    return self
"""]
NAMED = """if not hasattr(%s, 'graphed'):
    ModelNew.graphed = ModelNew._kw_graphed_by"""
KNOWN = """
bound, call = (self.__dict__.get("_kw_bound"), None)
if bound is not None and not torch.compiler.is_compiling():
    call = bound.known(%s)
if call is None:
    call = self._kw_bind(%s)
    if isinstance(call, str):
        return self._kw_original(args, kwargs, call)
"""
DROPS = "if '_kw_bound' not in self.__dict__:\n        self.__dict__.pop('_kw_made', None)\n    "
RETURNS_WHY = r"return '[\w ,().]+'"
CALLS_ORIGINAL = r"return self\._kw_original\(args, kwargs, ('[\w ,().]+'|call)\)"


class Forged(Exception):
    """A node that is in no listed form."""


def need(holds, node):
    if not holds:
        raise Forged("line %s: %s" % (getattr(node, "lineno", "?"), ast.unparse(node)[:200]))


def hash_of(lines, node):
    """Of a statement that has its lines of the text for itself."""
    return hashlib.sha256("\n".join(lines[node.lineno - 1:node.end_lineno]).encode()).hexdigest()[:16]


def same(node, text):
    """Whether a statement is this one, whatever its docstring and its warning say."""
    return _without_texts(node) == _parsed_without_texts(text)


@functools.cache
def _parsed_without_texts(text):
    return _without_texts(ast.parse(text).body[0])


def _without_texts(node):
    dump = ast.dump(node)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and len(inner.value) > 20 \
                or isinstance(inner, ast.Constant) and inner.value == "...":
            dump = dump.replace(ast.dump(inner), "TEXT")
    return dump


def dotted(node):
    """"torch.ops" of such an expression; "" of another."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return owner and owner + "." + node.attr
    return ""


def is_number(node):
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def is_int(node):
    return isinstance(node, ast.Constant) and type(node.value) is int


def is_ints(node):
    return isinstance(node, ast.Tuple) and all(map(is_int, node.elts))


def is_literal(node):
    return is_number(node) or is_special_float(node) or isinstance(node, ast.Constant) and (
        node.value is None or type(node.value) in (bool, str))


def is_special_float(node):
    return isinstance(node, ast.Call) and dotted(node.func) == "float" and not node.keywords \
        and len(node.args) == 1 and isinstance(node.args[0], ast.Constant) \
        and node.args[0].value in ("inf", "-inf", "nan")


def is_private(name):
    return name.startswith("__")


# -- slices -------------------------------------------------------------------------------------------


def is_slice_import(node):
    if isinstance(node, ast.Import):
        return len(node.names) == 1 and node.names[0].name in TRITON_MODULES
    return isinstance(node, ast.ImportFrom) and node.level == 0 and len(node.names) == 1 \
        and node.module in TRITON_MODULES and not node.names[0].name.startswith(("__", "*")) \
        and (node.names[0].name[0] != "_" or node.module == "triton.language.standard") \
        and (node.module != "triton" or node.names[0].name in FROM_TRITON)


def is_slice_constant(node):
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 \
            or not isinstance(node.targets[0], ast.Name):
        return False
    value = node.value
    if isinstance(value, ast.Call):
        return dotted(value.func) == "tl.constexpr" and len(value.args) == 1 and not value.keywords \
            and is_literal(value.args[0])
    return bool(re.fullmatch(r"tl\.[A-Za-z]\w*", dotted(value)))


def is_plain_default(node):
    if is_special_float(node) or isinstance(node, ast.UnaryOp) and is_special_float(node.operand):
        return True
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(map(is_plain_default, node.elts))
    if isinstance(node, ast.UnaryOp):
        return is_plain_default(node.operand)
    if isinstance(node, ast.BinOp):  # 1 + 2j, or names: nothing is called
        return is_plain_default(node.left) and is_plain_default(node.right)
    return isinstance(node, ast.Constant) or bool(dotted(node))


def is_kernel(node):
    if not isinstance(node, ast.FunctionDef) or [dotted(d) for d in node.decorator_list] != ["triton.jit"]:
        return False
    given = node.args
    arguments = given.posonlyargs + given.args + given.kwonlyargs + [
        a for a in (given.vararg, given.kwarg) if a]
    annotations = [a.annotation for a in arguments] + [node.returns]
    return all(map(is_plain_default, [d for d in given.defaults + given.kw_defaults if d])) \
        and all(a is None or is_plain_default(a) for a in annotations)


def parameters(node):
    need(isinstance(node, ast.FunctionDef), node)
    return {a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs}


def slice_name(node):
    """What a statement of a slice gives a meaning; Forged for another statement."""
    if is_slice_import(node):
        alias = node.names[0]
        return (alias.asname or alias.name).partition(".")[0]
    need(is_slice_constant(node) or is_kernel(node), node)
    return node.name if isinstance(node, ast.FunctionDef) else node.targets[0].id


def check_slice_apart(function, assignment):
    """`def _kw_slice_1()` and what takes its kernels; returns these, as `kernels` of Steps."""
    need(ast.dump(function.args) == ast.dump(ast.parse("def f(): pass").body[0].args)
         and not function.decorator_list and function.returns is None, function)
    inside = {slice_name(node): node for node in function.body[:-1]}
    last = function.body[-1]
    need(isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
         and all(isinstance(item, ast.Name) for item in last.value.elts), last)
    need(isinstance(assignment, ast.Assign) and len(assignment.targets) == 1
         and ast.unparse(assignment.value) == function.name + "()"
         and isinstance(assignment.targets[0], ast.Tuple), assignment)
    names = [getattr(item, "id", "") for item in assignment.targets[0].elts]
    need(all(re.fullmatch(r"_kw_\d+_\w+", name) for name in names)
         and len(names) == len(last.value.elts), assignment)
    return {name: parameters(inside[item.id]) for name, item in zip(names, last.value.elts)}


# -- the class ----------------------------------------------------------------------------------------


class Steps:
    """Statements of a function. `device` is where it makes tensors."""

    def __init__(self, kernels, launches=(), where="None", device="_kw_device"):
        self.kernels = kernels  # name -> parameters
        self.launches = launches  # names of objects that launch
        self.where = where  # what they are given first
        self.device = device
        self.known = set()  # local variables so far

    def local(self, node):
        return isinstance(node, ast.Name) and node.id in self.known

    def state(self, node):
        """self.a.b[0]["c"], or getattr(self, "d")"""
        if isinstance(node, ast.Name):
            return node.id == "self"
        if isinstance(node, ast.Attribute):
            return not is_private(node.attr) and self.state(node.value)
        if isinstance(node, ast.Subscript):
            return (is_number(node.slice) or isinstance(node.slice, ast.Constant)) \
                and self.state(node.value)
        return isinstance(node, ast.Call) and dotted(node.func) == "getattr" and not node.keywords \
            and len(node.args) == 2 and self.state(node.args[0]) \
            and isinstance(node.args[1], ast.Constant) and type(node.args[1].value) is str \
            and not is_private(node.args[1].value)

    def path(self, node):
        """args[0]["x"][1]"""
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
            return False
        return self.path(node.value) or isinstance(node.value, ast.Name) and node.value.id == "args"

    def argument(self, node):
        if isinstance(node, (ast.List, ast.Tuple)):
            return all(map(self.argument, node.elts))
        owner, _, name = dotted(node).rpartition(".")
        return is_literal(node) or self.local(node) or dotted(node) == self.device \
            or owner == "torch" and name in TORCH_NAMES

    def launch_argument(self, node):
        if isinstance(node, ast.Tuple):
            return all(map(self.launch_argument, node.elts))
        owner, _, name = dotted(node).rpartition(".")
        if owner == "_kw_triton.language":
            return name in TRITON_DTYPES
        if isinstance(node, ast.Call) and dotted(node.func) == DESCRIPTOR:
            return node.args and not node.keywords and self.argument(node.args[0]) and self.layout(node.args[1:])
        return self.argument(node) or isinstance(node, ast.Name) and node.id in self.kernels

    def layout(self, parts):
        """The shape, the strides and the block of a descriptor."""
        return len(parts) == 3 and all(isinstance(part, ast.List) for part in parts) \
            and all(map(self.argument, parts[0].elts + parts[1].elts)) and all(map(is_int, parts[2].elts))

    def call(self, node):
        if not isinstance(node, ast.Call) or any(k.arg is None for k in node.keywords):
            return False
        func = node.func
        method = isinstance(func, ast.Attribute) and self.local(func.value) and func.attr in METHODS
        return (method or dotted(func) in FUNCTIONS) \
            and all(map(self.argument, node.args)) and all(self.argument(k.value) for k in node.keywords)

    def launch(self, node):
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Name):
            return node.func.id in self.launches and not node.keywords and node.args \
                and ast.unparse(node.args[0]) == self.where and all(map(self.launch_argument, node.args[1:]))
        if not isinstance(node.func, ast.Subscript):
            return False
        kernel, grid = node.func.value, node.func.slice
        named = isinstance(kernel, ast.Name) and kernel.id in self.kernels and is_ints(grid) \
            and len(grid.elts) == 3 and all(k.arg is not None for k in node.keywords)
        return named and all(map(self.launch_argument, node.args)) and all(
            type(getattr(k.value, "value", None)) is OPTIONS[k.arg] if k.arg in OPTIONS
            else k.arg in self.kernels[kernel.id] and self.launch_argument(k.value)
            for k in node.keywords)

    def names(self, target):
        """The variables that a statement sets."""
        items = target.elts if isinstance(target, ast.Tuple) else [target]
        need(all(isinstance(item, ast.Name) for item in items), target)
        return [item.id for item in items]

    def step(self, node):
        """An operator, a launch, or the layout of a result."""
        if isinstance(node, ast.Expr):
            return need(self.launch(node.value) or self.call(node.value), node)
        need(isinstance(node, ast.Assign) and len(node.targets) == 1, node)
        value = node.value
        if isinstance(value, ast.Call) and dotted(value.func) == "_kw_laid_out":
            need(len(value.args) == 2 and not value.keywords and self.local(value.args[0])
                 and is_ints(value.args[1]) and self.local(node.targets[0]), node)
            return None
        need(self.call(value), node)
        names = self.names(node.targets[0])
        need(all(re.fullmatch(r"t\d+|_", name) for name in names), node)
        self.known.update(name for name in names if name != "_")

    def binding(self, node):
        """p0 = self.weight, x_ = args[0]: whether it is one."""
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 \
                or not isinstance(node.targets[0], ast.Name):
            return False
        name = node.targets[0].id
        if re.fullmatch(r"[pq]\d+", name) and self.state(node.value) \
                or re.fullmatch(r"x\d+|\w+_", name) and not name.startswith("_kw") \
                and self.path(node.value):
            self.known.add(name)
            return True
        return False

    def condition(self, node):
        if isinstance(node, ast.BoolOp):
            return all(map(self.condition, node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.condition(node.operand)
        if isinstance(node, ast.Compare):
            return all(isinstance(op, (ast.Is, ast.Eq, ast.NotEq)) for op in node.ops) \
                and all(map(self.compared, [node.left, *node.comparators]))
        if dotted(node) == "kwargs":
            return True
        if not isinstance(node, ast.Call) or node.keywords:
            return False
        if dotted(node.func) == "_kw_lie_as":
            return len(node.args) == 3 and isinstance(node.args[0], ast.Tuple) \
                and all(map(self.local, node.args[0].elts)) and dotted(node.args[1]) == "self._kw_places" \
                and is_int(node.args[2])
        if len(node.args) != 2:
            return False
        what, (first, second) = dotted(node.func), node.args
        if what == "isinstance":
            return self.path(first) and dotted(second) in ("dict", "list", "tuple")
        return what == "_kw_is_same" and self.local(first) and self.local(second)

    def compared(self, node):
        if isinstance(node, (ast.List, ast.Tuple)):
            kind = str if isinstance(node, ast.List) else bool
            return all(isinstance(item, ast.Constant) and type(item.value) is kind for item in node.elts)
        if isinstance(node, ast.Call) and not is_special_float(node):
            if dotted(node.func) == "len" and isinstance(node.args[0], ast.Set):
                return len(node.args) == 1 and not node.keywords and all(
                    isinstance(item, ast.Call) and dotted(item.func) == "id" and not item.keywords
                    and len(item.args) == 1 and self.path(item.args[0]) for item in node.args[0].elts)
            return dotted(node.func) in ("type", "len", "list") and len(node.args) == 1 \
                and not node.keywords and (self.path(node.args[0]) or dotted(node.args[0]) == "args")
        return is_literal(node) or self.path(node) or dotted(node) in ("str", "int", "float")

    def result(self, node):
        if isinstance(node, (ast.List, ast.Tuple)):
            return all(map(self.result, node.elts))
        if isinstance(node, ast.Dict):
            return all(isinstance(key, ast.Constant) and type(key.value) is str for key in node.keys) \
                and all(map(self.result, node.values))
        if isinstance(node, ast.Call) and not is_special_float(node):
            name = getattr(node.func, "id", "__")
            return not node.args and not is_private(name) and name not in USED | DANGEROUS \
                and not name.startswith("_kw") \
                and all(k.arg is not None and self.result(k.value) for k in node.keywords)
        return is_literal(node) or self.local(node)


def check_steps(node, kernels, launches, names, found):
    """`names` are those of the arguments; `found` is what `_kw_bind` takes from the model. Returns the
    names of what is taken from the model, and of the results."""
    need(ast.unparse(node.args) == ", ".join(["tensors", "where", *names]) and node.returns is None
         and ast.unparse(node.decorator_list) == "staticmethod", node)
    steps = Steps(kernels, launches, "where")
    steps.known.update(names)
    *body, last = node.body
    given = []
    if body and isinstance(body[0], ast.Assign) and ast.unparse(body[0].value) == "tensors":
        taken = body.pop(0)
        given = steps.names(taken.targets[0])
        state = [name for name in given if name[0] == "p"]
        need(state == found and all(re.fullmatch(r"d\d+", name) for name in given[len(state):]), taken)
        steps.known.update(given)
    for statement in body:
        steps.step(statement)
    need(isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
         and all(map(steps.local, last.value.elts)), last)
    return given, [item.id for item in last.value.elts]


def is_placing(statement):
    """Whether it is what gives arguments their places, by names."""
    found = re.fullmatch(r"if kwargs:\n    args, kwargs = _kw_placed\(args, kwargs, (\(.*\))\)", ast.unparse(statement))
    names = ast.parse(found[1]).body[0].value if found else None
    return isinstance(names, ast.Tuple) and all(isinstance(name, ast.Constant) and isinstance(name.value, str)
                                                for name in names.elts)


def check_forward(node, taken, results):
    """`taken` is what the steps take from the model, and `results` are theirs."""
    need(ast.unparse(node.args) == "self, *args, **kwargs" and not node.decorator_list
         and node.returns is None, node)
    steps = Steps({})
    given, known = [], []
    *body, run, last = node.body
    for statement in body[1:] if is_placing(body[0]) else body:
        if isinstance(statement, ast.If) and "call" in ast.unparse(statement.test) + ast.unparse(statement.body[0])[:4] \
                or ast.unparse(statement).startswith("bound, call = "):
            known.append(statement)
        elif isinstance(statement, ast.If):
            need(steps.condition(statement.test), statement)
            need(not statement.orelse and re.fullmatch(CALLS_ORIGINAL, ast.unparse(statement.body)), statement)
        elif known and ast.unparse(statement).endswith(" = call.tensors"):
            need(steps.names(statement.targets[0]) == taken, statement)
            steps.known.update(taken)
        else:
            need(steps.binding(statement) and not known, statement)
            given.append(statement.targets[0].id)
    names = ", ".join(given)
    need([ast.unparse(s) for s in known]
         == [ast.unparse(s) for s in ast.parse(KNOWN % (", ".join(["self", *given]), names)).body], node)
    once = [name if name not in results[:i] else "_" for i, name in enumerate(results)]
    runs = "call.run(%s)" % ", ".join(["self", *given])
    need(ast.unparse(run) == ast.unparse(ast.parse("(%s) = %s" % (", ".join([*once, ""]), runs) if once else runs)), run)
    steps.known.update(results)
    need(isinstance(last, ast.Return) and last.value is not None and steps.result(last.value), last)


def check_bind(node, names):
    """_kw_bind(): `names` are those of the arguments. Returns the names of the state that forward takes."""
    need(ast.unparse(node.args) == ", ".join(["self", *names]) and not node.decorator_list
         and node.returns is None, node)
    steps = Steps({})
    steps.known.update(names)
    text, *body, last = node.body
    need(isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant), text)
    state = []
    for statement in body:
        text = ast.unparse(statement)
        if isinstance(statement, ast.Try):
            *found, change = statement.body
            if ast.unparse(change) != "why = _kw_change(self, self._kw_modules)":
                found.append(change)
            need(all(map(steps.binding, found)) and not statement.orelse and not statement.finalbody
                 and re.fullmatch(r"\s*except \(AttributeError, LookupError, TypeError\):\n    " + RETURNS_WHY,
                                  ast.unparse(statement.handlers)), statement)
            state = [s.targets[0].id for s in found]
        elif isinstance(statement, ast.If) and text in (
                "if why:\n    return why", "if why:\n    " + DROPS + "return why"):
            pass
        elif isinstance(statement, ast.If):
            need(ast.unparse(statement.test) == "derived is None" or steps.condition(statement.test), statement)
            need(not statement.orelse and re.fullmatch(RETURNS_WHY, ast.unparse(statement.body)), statement)
        elif text.startswith(("why = _kw_misfit(", "why = why or _kw_misfit(")):
            call = statement.value.values[1] if isinstance(statement.value, ast.BoolOp) else statement.value
            need(isinstance(call, ast.Call) and dotted(call.func) == "_kw_misfit" and len(call.args) == 2
                 and not call.keywords and isinstance(call.args[0], ast.Tuple)
                 and all(map(steps.local, call.args[0].elts))
                 and dotted(call.args[1]) == "self._kw_expected"
                 and (call is statement.value or len(statement.value.values) == 2), statement)
        elif text.startswith("derived = self._kw_derived("):
            given = statement.value
            need(not given.keywords and all(map(steps.local, given.args)), statement)
        else:
            need(False, statement)
    call = getattr(last, "value", None)
    need(isinstance(last, ast.Return) and isinstance(call, ast.Call) and dotted(call.func) == "_kw_Bound.call"
         and not call.keywords and len(call.args) == 5 and ast.unparse(call.args[0]) == "self"
         and all(isinstance(part, ast.Tuple) for part in call.args[1:])
         and all(map(steps.local, [item for part in call.args[2:] for item in part.elts]))
         and [item.id for item in call.args[2].elts] == state
         and [item.id for item in call.args[4].elts] == names, last)
    taken = [ast.unparse(item) for item in call.args[1].elts]
    need(taken[-1:] == ["*derived"] or "*derived" not in taken, last)
    taken = [name for name in taken if name != "*derived"]
    need(taken == [name for name in state if name[0] == "p"], last)
    return taken


def check_derived(node, kernels, launches):
    state = [argument.arg for argument in node.args.args[1:]]
    need(all(re.fullmatch(r"[pq]\d+", name) for name in state) and len(set(state)) == len(state)
         and ast.unparse(node.args) == ", ".join(["self", *state])
         and not node.decorator_list and node.returns is None, node)
    steps = Steps(kernels, launches)
    steps.known.update(state)
    body = node.body[1:]
    need(isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant), node)
    need(len(body) == 4 and isinstance(body[0], ast.Try) and isinstance(body[2], ast.If), node)
    key = "".join("(id({0}), {0}._version, {0}.untyped_storage()._cdata, {0}.storage_offset()), ".format(name)
                  for name in state)
    need(ast.unparse(body[0]) == ast.unparse(ast.parse(
        "try:\n    key = (%s)\nexcept RuntimeError:\n    key = object()" % key)), body[0])
    need(ast.unparse(body[1]) == "made = self.__dict__.get('_kw_made')", body[1])
    need(ast.unparse(body[2].test) == "made is None or made.key != key" and not body[2].orelse, node)
    *made_of, made = body[2].body
    if len(made_of) == 2 and isinstance(made_of[1], ast.If):
        nothing, asked = made_of
        need(ast.unparse(nothing) == "tensors = None" and not asked.orelse, nothing)
        check_premises(asked.test, steps)
        made_of = asked.body
    for statement in made_of[:-1]:
        steps.step(statement)
    tensors = made_of[-1]
    need(isinstance(tensors, ast.Assign) and ast.unparse(tensors.targets) == "tensors", tensors)
    need(isinstance(tensors.value, ast.Tuple) and all(map(steps.local, tensors.value.elts)), tensors)
    held = "".join("{0}, {0}.detach(), ".format(name) for name in state)
    need(ast.unparse(made) == ast.unparse(ast.parse(
        "made = self.__dict__['_kw_made'] = _kw_Made(key, tensors, (%s))" % held)), made)
    need(ast.unparse(body[3]) == "return made.tensors", body[3])


def check_premises(test, steps):
    """_kw_are_tables((p0,)) and (q0 is p0 or torch.equal(q0, p0))"""
    asked, *equal = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    need(isinstance(asked, ast.Call) and dotted(asked.func) == "_kw_are_tables" and not asked.keywords
         and len(asked.args) == 1 and isinstance(asked.args[0], ast.Tuple)
         and all(map(steps.local, asked.args[0].elts)), asked)
    for condition in equal:
        form = re.fullmatch(r"(q\d+) is (p\d+) or torch\.equal\(\1, \2\)", ast.unparse(condition))
        need(form and {form[1], form[2]} <= steps.known, condition)


def check_judged(table, function):
    """A comparison of the capability, and of properties with literals."""
    need(ast.unparse(table) == "_kw_judged = {}", table)
    need(isinstance(function, ast.FunctionDef) and len(function.body) == 3
         and isinstance(function.body[1], ast.If), function)
    assignment = function.body[1].body[-1]
    need(isinstance(assignment, ast.Assign), assignment)
    conditions, assignment.value = assignment.value, ast.Constant(value=...)
    need(same(function, IS_JUDGED), function)
    conditions = conditions.values if isinstance(conditions, ast.BoolOp) and isinstance(conditions.op, ast.And) \
        else [conditions]
    need(re.fullmatch(r"\(gpu\.major, gpu\.minor\) == \(\d+, \d\)", ast.unparse(conditions[0])), function)
    for condition in conditions[1:]:
        need(isinstance(condition, ast.Compare) and [type(op) for op in condition.ops] == [ast.Eq]
             and isinstance(condition.left, ast.Attribute) and dotted(condition.left.value) == "gpu"
             and condition.left.attr in PROPERTIES
             and (is_number(condition.comparators[0])
                  or type(getattr(condition.comparators[0], "value", None)) is str), condition)


def check_tables(node):
    """Steps without launches, and comparisons of what they make."""
    need(ast.unparse(node.args) == "tensors" and not node.decorator_list and node.returns is None
         and len(node.body) == 4, node)
    text, unpack, loop, last = node.body
    need(isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant), text)
    need(isinstance(unpack, ast.Assign) and ast.unparse(unpack.value) == "tensors", unpack)
    steps = Steps({}, device="device")
    tables = steps.names(unpack.targets[0])
    need(tables == ["p%d" % i for i in range(len(tables))], unpack)
    need(isinstance(loop, ast.For) and ast.unparse(loop.target) == "device" and not loop.orelse
         and ast.unparse(loop.iter) == "(_kw_device, None)", loop)
    for statement in loop.body[:-1]:
        steps.step(statement)
    asked = loop.body[-1]
    need(isinstance(asked, ast.If) and not asked.orelse and ast.unparse(asked.body) == "return True", asked)
    conditions = asked.test.values if isinstance(asked.test, ast.BoolOp) else [asked.test]
    need(len(conditions) == len(tables)
         and (not isinstance(asked.test, ast.BoolOp) or isinstance(asked.test.op, ast.And)), asked)
    for table, condition in zip(tables, conditions):
        made = re.fullmatch(r"torch\.equal\((p\d+), (t\d+)\.to\((p\d+)\.device\)\)", ast.unparse(condition))
        need(made and made[1] == made[3] == table and made[2] in steps.known, condition)
    need(ast.unparse(last) == "return False", last)


def is_expectation(node):
    return isinstance(node, ast.Tuple) and len(node.elts) == 4 \
        and type(getattr(node.elts[0], "value", None)) is str \
        and re.fullmatch(r"torch\.(%s)" % "|".join(DTYPES), dotted(node.elts[1])) \
        and is_ints(node.elts[2]) and is_ints(node.elts[3])


def is_module(node):
    """(("layers", 0, ), "Block", ("weight", ), 0, None, (("eps", 1e-05), ))"""
    if not isinstance(node, ast.Tuple) or len(node.elts) != 6:
        return False
    keys, kind, parts, hooks, hiding, settings = node.elts
    return is_keys(keys) and type(getattr(kind, "value", 0)) in (str, type(None)) \
        and (is_int(hooks) or getattr(hooks, "value", 0) is None) \
        and all(getattr(names, "value", 0) is None or isinstance(names, ast.Tuple) and all(
            type(getattr(name, "value", 0)) is str for name in names.elts) for names in (parts, hiding)) \
        and isinstance(settings, ast.Tuple) and all(
            isinstance(setting, ast.Tuple) and len(setting.elts) in (1, 2)
            and type(getattr(setting.elts[0], "value", None)) is str and not is_private(setting.elts[0].value)
            and all(map(is_constant, setting.elts[1:])) for setting in settings.elts)


def is_constant(node):
    return is_literal(node) or isinstance(node, ast.Tuple) and all(map(is_constant, node.elts))


def is_keys(node):
    return isinstance(node, ast.Tuple) and all(
        is_number(key) or isinstance(key, ast.Constant) and type(key.value) is str and not is_private(key.value)
        for key in node.elts)


def check_class(node, kernels, launches):
    need(node.name == "ModelNew" and len(node.bases) == 1 and isinstance(node.bases[0], ast.Name)
         and not is_private(node.bases[0].id) and not node.keywords and not node.decorator_list, node)
    text, expected, paths, modules, *methods = node.body
    need(isinstance(modules, ast.Assign) and ast.unparse(modules.targets) == "_kw_modules"
         and isinstance(modules.value, ast.Tuple) and all(map(is_module, modules.value.elts)), modules)
    need(isinstance(paths, ast.Assign) and ast.unparse(paths.targets) == "_kw_paths"
         and isinstance(paths.value, ast.Tuple) and all(map(is_keys, paths.value.elts)), paths)
    if methods and isinstance(methods[0], ast.Assign):
        places = methods.pop(0)
        need(ast.unparse(places.targets) == "_kw_places" and isinstance(places.value, ast.Tuple)
             and all(isinstance(place, ast.Tuple) and len(place.elts) == 2 and is_ints(place)
                     for place in places.value.elts), places)
    need(isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant), text)
    need(isinstance(expected, ast.Assign) and ast.unparse(expected.targets) == "_kw_expected"
         and isinstance(expected.value, ast.Tuple) and all(map(is_expectation, expected.value.elts)),
         expected)
    need(all(isinstance(method, ast.FunctionDef) for method in methods), node)
    names = [method.name for method in methods]
    derived = [methods.pop(0)] if names[:1] == ["_kw_derived"] else []
    for method in derived:
        check_derived(method, kernels, launches)
    need([method.name for method in methods]
         == ["_kw_original", "_kw_bind", "_kw_steps", "_kw_graphed_by", "forward"], node)
    original, bind, steps, graphed, forward = methods
    need(same(original, ORIGINAL), original)
    need(any(same(graphed, text) for text in GRAPHED), graphed)
    arguments = [s.targets[0].id for s in forward.body if Steps({}).binding(s)]
    check_forward(forward, *check_steps(steps, kernels, launches, arguments, check_bind(bind, arguments)))


def check_launch(node, kernels, number):
    """_kw_launch_0 = _kw_Launch(kernel, (2, 1, 1), dict(BLOCK=64), dict(num_warps=8), {1: (descriptor, [16], [1], [8])}),
    where the last is left out if it is empty; returns the name."""
    name = "_kw_launch_%d" % number
    need(isinstance(node, ast.Assign) and ast.unparse(node.targets) == name and isinstance(node.value, ast.Call)
         and dotted(node.value.func) == "_kw_Launch" and len(node.value.args) in (4, 5) and not node.value.keywords, node)
    kernel, grid, constants, options, *descriptors = node.value.args
    need(isinstance(kernel, ast.Name) and kernel.id in kernels and is_ints(grid) and len(grid.elts) == 3, node)
    need(all(isinstance(part, ast.Call) and dotted(part.func) == "dict" and not part.args
             for part in (constants, options)), node)
    steps = Steps(kernels)
    need(all(k.arg in kernels[kernel.id] and steps.launch_argument(k.value) for k in constants.keywords), node)
    need(all(k.arg in OPTIONS and type(getattr(k.value, "value", None)) is OPTIONS[k.arg]
             for k in options.keywords), node)
    for places in descriptors:
        need(isinstance(places, ast.Dict) and places.keys and all(map(is_int, places.keys)), node)
        need(all(isinstance(made, ast.Tuple) and made.elts and dotted(made.elts[0]) == DESCRIPTOR
                 and steps.layout(made.elts[1:]) for made in places.values), node)
    return name


def parsed(reference, python):
    """The statements of each; SyntaxError when Python loads the one or a kernel of the other not."""
    before = ast.parse(reference).body
    try:
        return before, ast.parse(python).body
    except SyntaxError as error:
        if error.lineno < python[:python.index("\n_kw_interpreted = ")].count("\n"):
            raise
        raise Forged("line %d is no Python" % error.lineno) from None


def check(reference, python):
    """Raises Forged when what follows the reference's text is in no listed form; SyntaxError where
    Python would not load it."""
    before, body = parsed(reference, python)
    need(python.startswith(reference) and len(body) > len(before), body[0])
    need([ast.dump(node) for node in body[:len(before)]] == [ast.dump(node) for node in before], body[0])
    added = body[len(before):]
    *imports, descriptors = (ast.dump(node) for node in ast.parse(IMPORTS).body)
    devices = [ast.dump(node) for node in ast.parse(DEVICE).body]
    misfits = [MISFIT.replace("ALIGNED", aligned).replace("DEFAULT", dtype)
               for aligned in ("", ALIGNED) for dtype in DTYPES]
    rest = added[len(imports):]
    need([ast.dump(node) for node in added[:len(imports)]] == imports, added[0])
    if rest and ast.dump(rest[0]) == descriptors:
        rest.pop(0)
    kernels = {}
    while rest and ast.dump(rest[0]) != devices[0]:
        node = rest.pop(0)
        if isinstance(node, ast.FunctionDef) and re.fullmatch(r"_kw_slice_\d+", node.name):
            need(rest, node)
            kernels |= check_slice_apart(node, rest.pop(0))
            continue
        name = slice_name(node)
        need(name not in USED and not name.startswith(("_kw", "__")), node)
        if isinstance(node, ast.FunctionDef):
            kernels[name] = parameters(node)
    need([ast.dump(node) for node in rest[:2]] == devices, rest[0] if rest else added[-1])
    need(len(rest) >= 6, rest[-1])
    check_judged(rest[2], rest[3])
    del rest[2:4]
    need(_without_texts(rest[2]) in map(_parsed_without_texts, misfits), rest[2])
    lines = python.split("\n")
    named, model = rest.pop(), rest.pop()
    need(isinstance(model, ast.ClassDef) and len(model.bases) == 1, model)
    need(ast.unparse(named) == NAMED % ast.unparse(model.bases[0]), named)
    helpers = rest[3:]
    launches = []
    for name, hashes in FIXED.items():
        if not helpers or getattr(helpers[0], "name", "") != name:
            need(name in OPTIONAL, model)
        elif name == "_kw_are_tables":
            check_tables(helpers.pop(0))
        else:
            need(hash_of(lines, helpers[0]) in hashes, helpers[0])
            helpers.pop(0)
            if name in OBJECTS:
                need(helpers and ast.unparse(helpers[0]) == OBJECTS[name], model)
                helpers.pop(0)
            while helpers and name == "_kw_Launch":
                launches.append(check_launch(helpers.pop(0), kernels, len(launches)))
    check_class(model, kernels, launches)
    need(not helpers, helpers[0] if helpers else None)


def exports_of(count, variants=True):
    """(reference, text) of what the fuzz target exports: of its seeds and of `count` mutations, and of
    variants of these."""
    build = os.environ.get("KW_BUILD_DIR", str(ROOT / "build"))
    ours, theirs = os.pipe()
    process = subprocess.Popen([os.path.join(build, "fuzz_export"), str(SEEDS), str(count)],
                               stdout=subprocess.DEVNULL, pass_fds=[theirs],
                               env={**os.environ, "KW_EXPORTS": "/dev/fd/%d" % theirs})
    os.close(theirs)
    with open(ours, encoding="utf-8") as lines:
        for line in lines:
            export = json.loads(line)
            if variants or not export["variant"]:
                yield export["reference"], export["python"]
    if process.wait():
        raise RuntimeError("fuzz_export failed")


def checked(exports):
    """How many texts hold listed forms alone, and how many are none that Python loads."""
    good = broken = 0
    for reference, python in exports:
        try:
            check(reference, python)
            good += 1
        except SyntaxError:
            broken += 1
        except Forged as forged:
            raise Forged("%s, in\n%s" % (forged, python)) from None
    return good, broken


def print_fixed():
    """The hashes of the seeds' exports as FIXED has them."""
    found = {name: [] for name in FIXED}
    for _, python in exports_of(0):
        for node in ast.parse(python).body:
            if getattr(node, "name", "") in found and node.name != "_kw_are_tables":
                found[node.name] += {hash_of(python.split("\n"), node)} - set(found[node.name])
    for name, hashes in found.items():
        print('    "%s": [%s],' % (name, ", ".join('"%s"' % each for each in hashes)))


def main():
    if sys.argv[1:] == ["--fixed"]:
        return print_fixed()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    good, broken = checked(exports_of(count))
    print("%d damaged inputs: %d exports of listed forms, %d that Python does not load" % (
        count, good, broken))


if __name__ == "__main__":
    main()
