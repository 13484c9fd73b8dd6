"""Loading a slice: from its text to functions that Triton can compile."""

import linecache
import types

import triton.language as tl
from triton.runtime.jit import JITFunction

from loading import source_lines
from refusal import Refused
from slicer import dtype_name

_count = 0


def load(text):
    """Runs a slice (imports, constants, jit functions and nothing else) and returns its names."""
    global _count
    _count += 1
    # Triton reads a function's source through linecache; the name enters no compiled code.
    path = "/kernelwright/slice%d.py" % _count
    linecache.cache[path] = (len(text), None, source_lines(text), path)
    module = types.ModuleType("_kernelwright_slice")
    exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def parse_path(text):
    return tuple(int(part) for part in text.split(","))


def decode_constexpr(value, scope):
    """A constexpr of docs/formats/task.md as Triton wants it."""
    if not isinstance(value, dict):
        return value
    (kind, what), = value.items()
    if kind == "dtype":
        return getattr(tl, dtype_name(what))
    if kind == "function" and isinstance(scope.get(what), JITFunction):
        return scope[what]
    if kind == "tuple":
        return tuple(decode_constexpr(item, scope) for item in what)
    if kind == "f":
        return float(what)
    raise Refused("slice", "a constexpr that is no literal, dtype or function of the slice")


def ast_source(kernel, text):
    """What Triton compiles for a Kernel (or Raw kernel) with this slice."""
    from triton.compiler import ASTSource
    scope = load(text)
    constexprs = {parse_path(path): decode_constexpr(value, scope)
                  for path, value in kernel["constexprs"].items()}
    attrs = {parse_path(path): [list(pair) for pair in found]
             for path, found in kernel["attrs"].items()}
    signature = {p["name"]: p["type"] for p in kernel["params"]}
    return ASTSource(scope[kernel["name"]], signature, constexprs, attrs)
