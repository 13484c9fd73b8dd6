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


def parameter_names(kernel):
    """The function's parameters in order: `pair.0`, `pair.1` are one."""
    return list(dict.fromkeys(p["name"].partition(".")[0] for p in kernel["params"]))


def parameter_paths(kernel):
    """Returns, for each of `params`, its place among the function's parameters: (2,), or (2, 0) in a
    tuple. It is None for the shape and strides of a host tensor descriptor, which follow it."""
    order = {name: index for index, name in enumerate(parameter_names(kernel))}
    described = {p["name"] for p in kernel["params"] if p["type"].startswith("tensordesc<")}
    all_paths = []
    for param in kernel["params"]:
        name, *inside = param["name"].split(".")
        known = name in described and inside
        all_paths.append(None if known else (order[name], *map(int, inside)))
    paths = [path for path in all_paths if path is not None]
    if len(set(paths)) != len(paths) or paths != sorted(paths):
        raise Refused("slice", "parameters of kernel %s out of order" % kernel["name"])
    return all_paths


def _nested(paths, types):
    """Types by path as nested tuples."""
    if not paths:
        return ()
    if paths == [()]:
        return types[0]
    items = []
    for index in range(paths[-1][0] + 1):
        inside = [(path[1:], kind) for path, kind in zip(paths, types) if path[0] == index]
        if not inside or any(not path for path, _ in inside) and len(inside) > 1:
            raise Refused("slice", "a tuple with gaps")
        items.append(_nested(*map(list, zip(*inside))))
    return tuple(items)


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
    paths = parameter_paths(kernel)
    constexprs = {paths[int(index)]: decode_constexpr(value, scope)
                  for index, value in kernel["constexprs"].items()}
    attrs = {paths[int(index)]: [list(pair) for pair in found]
             for index, found in kernel["attrs"].items()}
    if None in constexprs or None in attrs:
        raise Refused("slice", "a descriptor's shape is no constant")
    passed = [(path, p["type"]) for path, p in zip(paths, kernel["params"]) if path is not None]
    types = _nested([path for path, _ in passed], [kind for _, kind in passed])
    signature = dict(zip(parameter_names(kernel), types))
    return ASTSource(scope[kernel["name"]], signature, constexprs, attrs)
