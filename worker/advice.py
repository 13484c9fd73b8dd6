"""What to write in a kernel in place of a name that means nothing there, for messages.

One place says where each name really is: functions of PyTorch, numpy, Python and earlier versions of
Triton have another name in Triton's language, or are in libdevice. A name that exists nowhere may be
misspelled.
"""

import dataclasses
import functools
import re
import types

import numpy as np
import torch
import triton.language as tl
from triton.language.extra import libdevice

from language import MODULES, VALUE_MEMBERS, allowed_member

# Names that are no functions of Triton, or functions with another meaning, and what does the same.
# tests/worker/test_advice.py compiles each.
_SAME = {
    "tl.device_print('x', x)": "print",
    "tl.abs(x)": "absolute fabs",
    "tl.maximum(x, 0.0)": "relu relu_",
    "tl.where(x > 0, x, 0.01 * x)": "leaky_relu",
    "x * tl.sigmoid(x)": "silu silu_ swish",
    "0.5 * x * (1.0 + tl.erf(0.7071067811865476 * x))": "gelu gelu_",
    "tl.maximum(x, 0.0) + libdevice.log1p(tl.exp(-tl.abs(x)))": "softplus",
    "x * x": "square",
    "-x": "neg negative",
    "1.0 / x": "reciprocal",
    "tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, 0.0))": "sign sgn",
    "tl.clamp(x, low, high)": "clip clip_ clamp_ hardtanh",
    "libdevice.rint(x)": "round",
    "libdevice.pow(x, y)": "power float_power",
    "libdevice.trunc(x)": "fix",
    "libdevice.asin(x)": "arcsin",
    "libdevice.acos(x)": "arccos",
    "libdevice.atan(x)": "arctan",
    "libdevice.atan2(x, y)": "arctan2",
    "x - y * tl.floor(x / y)": "remainder mod",
    "x / y": "div divide true_divide div_",
    "x + y": "add_",
    "x * y": "multiply mul_",
    "x - y": "subtract sub_",
    "x + weight * (y - x)": "lerp",
    "i & j": "bitwise_and",
    "i | j": "bitwise_or",
    "i ^ j": "bitwise_xor",
    "(x != 0) & (y != 0)": "logical_and",
    "(x != 0) | (y != 0)": "logical_or",
    "(x != 0) ^ (y != 0)": "logical_xor",
    "x == 0": "logical_not",
    "tl.sum(x, 0) / n": "mean average",
    "tl.sum((x - m) * (x - m), 0) / (n - correction)": "var",
    "tl.sqrt(tl.sum((x - m) * (x - m), 0) / (n - correction))": "std",
    "tl.sqrt(tl.sum(x * x, 0))": "norm",
    "tl.max((x != 0).to(tl.int32), 0)": "any",
    "tl.min((x != 0).to(tl.int32), 0)": "all",
    "tl.max(x, 0) + tl.log(tl.sum(tl.exp(x - tl.max(x, 0)), 0))": "logsumexp",
    "tl.dot(a, b)": "matmul mm bmm",
    "tl.trans(a)": "transpose t swapaxes",
    "tl.zeros((64,), tl.float32)": "empty",
    "tl.zeros_like(x)": "empty_like",
    "tl.full((64,), 1.0, tl.float32)": "ones tensor",
    "tl.full(x.shape, 1.0, x.dtype)": "ones_like full_like",
    "tl.atomic_add(p, -x)": "atomic_sub",
    "tl.sort(x)": "sorted",
    "tl.debug_barrier()": "syncthreads sync_threads barrier",
    "float('inf')": "inf Inf infinity",
    "float('nan')": "nan NaN",
    "x.shape[0]": "size",
}
_EXPRESSIONS = {name: text for text, names in _SAME.items() for name in names.split()}
_ADVICE = {
    "stride": "pass the stride as an argument of the kernel",
    "get_int_dtype": "write tl.core.get_int_dtype",
    "data_ptr": "a pointer that the kernel was given is the address itself",
    "concat": "use tl.cat",
    "concatenate": "use tl.cat",
    "stack": "use tl.join, which adds a last dimension of two",
    "floor_divide": "write i // j, which rounds towards zero",
    "divmod": "write i // j and i % j, which round towards zero",
    "enumerate": "write a loop over range(n)",
    "zip": "write a loop over range(n)",
    "reversed": "write a loop over range(n - 1, -1, -1)",
    "map": "write a loop",
    "filter": "write a loop",
    "libdevice": "import it: from triton.language.extra import libdevice",
}
_DTYPES = {name: dtype for dtype, names in {
    "float32": "float fp32 f32 single", "float64": "double fp64 f64", "float16": "half fp16 f16",
    "bfloat16": "bfloat bf16", "int32": "int i32", "int64": "long i64", "int16": "short i16",
    "int8": "char i8", "int1": "bool bool_ i1", "uint8": "byte u8", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "float8e4nv": "float8_e4m3fn", "float8e5": "float8_e5m2",
}.items() for name in names.split()}


def _dtype(name):
    known = _DTYPES.get(name, name)
    return "tl." + known if isinstance(getattr(tl, known, None), tl.dtype) else ""


def _is_function(module, name):
    return not name.startswith("_") and not isinstance(getattr(module, name, None), type) \
        and allowed_member(module, name)


def _place(name):
    """Where a kernel has a function of this name."""
    if name not in ("range", "math", "extra") and _is_function(tl, name):
        return "tl." + name
    if _is_function(libdevice, name):
        return "libdevice." + name
    return ""


def _with_import(text):
    return text + " (from triton.language.extra import libdevice)" if "libdevice" in text else text


def instead(name):
    """What does in a kernel what `name` does elsewhere, as an order; empty if nothing is known."""
    if name in _EXPRESSIONS:
        return "write " + _with_import(_EXPRESSIONS[name])
    if name in _ADVICE:
        return _ADVICE[name]
    found = _dtype(name) or _place(name)
    return "use " + _with_import(found) if found else ""


def _edits(a, b):
    """How many letters have to be changed, left out, added or swapped with the next one."""
    @functools.lru_cache(maxsize=None)
    def of(i, j):
        if not i or not j:
            return i + j
        best = min(of(i - 1, j) + 1, of(i, j - 1) + 1, of(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
        swapped = i > 1 and j > 1 and a[i - 2:i] == b[j - 1] + b[j - 2]
        return min(best, of(i - 2, j - 2) + 1) if swapped else best
    return of(len(a), len(b))


def _close(name, names):
    """The name of which `name` is a misspelling, by one edit in four letters at most, or ""."""
    most = len(name) // 4
    found = [(_edits(name, each), abs(len(each) - len(name)), each) for each in sorted(names)
             if abs(len(each) - len(name)) <= most <= len(name) <= 40]
    return min((each for each in found if each[0] <= most), default=("", "", ""))[2]


def _sentence(text, advice):
    return text + (": " + advice if advice else "")


def of_member(module, shown, name):
    """What is wrong with `shown.name`, where `shown` is a module that kernels know."""
    text = "%s.%s" % (shown, name)
    value = getattr(module, name, None)
    if value is not None and value in MODULES.values():
        return of_module(text)
    if value is not None:
        return "%s is not allowed: %s" % (text, not_allowed(name))
    advice = instead(name)
    if not advice:
        meant = _close(name, [each for each in dir(module) if allowed_member(module, each)])
        meant = "%s.%s" % (shown, meant) if meant else _close_anywhere(name)
        advice = "is it %s?" % meant if meant else ""
    return _sentence("%s does not exist" % text, advice)


def _close_anywhere(name):
    for module, prefix in ((tl, "tl."), (libdevice, "libdevice.")):
        found = _close(name, [each for each in dir(module) if _is_function(module, each)])
        if found:
            return _with_import(prefix + found)
    return ""


def not_allowed(name):
    """What to do in place of naming a part of Triton that is not for kernels."""
    return instead(name) or "kernels may use the public functions and types of triton.language and libdevice"


def of_module(shown):
    """What is wrong with a module that is named for itself."""
    return "%s is a module, and no value: name what you mean in it, such as %s.NAME" % (shown, shown)


def of_attribute(shown, name):
    """What is wrong with an attribute of a value, `shown.name`."""
    if name.startswith("_") or hasattr(tl.tensor, name) or hasattr(tl.dtype, name):
        return "the attribute %s is not allowed in a kernel, as it is not public" % name
    dtype = _dtype(name)
    advice = "write %s.to(%s)" % (shown, dtype) if dtype else instead(name)
    if name in _EXPRESSIONS and shown.isidentifier():
        advice = re.sub(r"\bx\b", shown, advice)
    if not advice:
        meant = _close(name, VALUE_MEMBERS)
        advice = "is it %s?" % meant if meant else ""
    return _sentence("%s.%s does not exist in a kernel" % (shown, name), advice)


def of_name(name, builtin, known):
    """What is wrong with a name that nothing defines. `builtin`: Python does; `known`: names that the
    kernel has."""
    if builtin:
        return _sentence("Python's %s is not allowed in a kernel" % name, instead(name))
    text = "%s is not defined" % name
    meant = _close(name, [each for each in known if not each.startswith("_")])
    if meant:
        return _sentence(text, "is it %s?" % meant)
    found = _place(name)
    if found:
        return _sentence(text, "use " + _with_import(found))
    return _sentence(text, "assign it in the kernel, pass it as an argument, or define it in the file "
                     "as a number or a @triton.jit function")


@dataclasses.dataclass
class Missing:
    """Stands for what a module does not have."""
    module: str
    name: str


# Libraries whose functions kernels are written with by mistake.
_LIBRARIES = {"torch": "PyTorch", "numpy": "numpy", "scipy": "scipy", "jax": "JAX",
              **{name: "Python's module %s" % name
                 for name in ("math", "cmath", "operator", "functools", "random")}}


def of_global(path, value):
    """What a global is that no kernel can use, and what to do: the end of a sentence that begins
    "the kernel uses ..."."""
    name = path.rpartition(".")[2]
    if isinstance(value, Missing):
        return _sentence("which the module %s does not have" % value.module, instead(value.name))
    if isinstance(value, torch.Tensor):
        return "a tensor: pass it as an argument of the kernel"
    if isinstance(value, torch.dtype):
        return "a dtype of PyTorch: use %s" % (_dtype(str(value)[6:]) or "one of triton.language")
    if isinstance(value, np.generic):
        return "a number of numpy: make it a Python number by int() or float()"
    if isinstance(value, (list, tuple, dict, set)):
        return "a %s: pass what it holds as arguments, or give each item a name of its own" \
            % type(value).__name__
    if isinstance(value, tl.constexpr):
        return "a tl.constexpr of a %s: make it one of a number, a text, a boolean or a dtype, or pass " \
            "it as an argument" % type(value.value).__name__
    if (getattr(value, "__module__", None) or "").startswith("triton"):
        return "a part of Triton that is not allowed in a kernel: " + not_allowed(name)
    library = _LIBRARIES.get(_root(value) or path.partition(".")[0])
    if library:
        known = instead(name) or instead(getattr(value, "__name__", name))
        return _sentence("a part of %s that cannot run in a kernel" % library, known)
    if isinstance(value, type):
        return "a class: use numbers and @triton.jit functions at module level"
    if isinstance(value, types.FunctionType):
        return "a Python function without @triton.jit: decorate it, and it is compiled into the kernel"
    return "a %s: a kernel can use numbers, texts, booleans, dtypes and @triton.jit functions" \
        % type(value).__name__


def _root(value):
    """The outermost module of a function or class, where it says so."""
    for part in (value, getattr(value, "__self__", None), type(value)):
        module = getattr(part, "__module__", None) or getattr(part, "__name__", None)
        if isinstance(module, str) and module.partition(".")[0] in _LIBRARIES:
            return module.partition(".")[0]
    return ""
