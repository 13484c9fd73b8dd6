"""Kernels of a few lines, run by the interpreter of launches (worker/machine.py)."""

import interpreter
import torch
from machine import Machine
from memory import Memory

HEAD = """import triton
import triton.language as tl
from triton.language.extra import libdevice


"""
TYPES = {torch.float32: "fp32", torch.float64: "fp64", torch.float16: "fp16",
         torch.bfloat16: "bf16", torch.int32: "i32", torch.int64: "i64", torch.int8: "i8",
         torch.bool: "i1"}


def machine(body, args, constexprs=(), signature=None, functions="", **choices):
    """Returns a Machine for `kernel` with the given body, and the values of its arguments. args: {name:
    tensor or number}, in order. `choices` are Machine's own: seed, promises, work."""
    names = list(args) + [name for name, _ in constexprs]
    text = HEAD + functions + "@triton.jit\ndef kernel(%s):\n" % ", ".join(
        list(args) + [n + ": tl.constexpr" for n, _ in constexprs])
    text += "\n".join("    " + line for line in body.strip("\n").splitlines()) + "\n"
    arrays, values, params = [], [], []
    for name, value in args.items():
        if isinstance(value, torch.Tensor):
            params.append({"name": name, "type": "*" + TYPES[value.dtype]})
            values.append(Memory.address(len(arrays), 0))
            arrays.append(value.view(torch.uint8).reshape(-1).numpy() if value.dim() else
                          value.reshape(1).view(torch.uint8).numpy())
        else:
            kind = (signature or {}).get(name, "fp32" if isinstance(value, float) else "i32")
            params.append({"name": name, "type": kind})
            values.append(value)
    first = len(params)
    params += [{"name": name, "type": "constexpr"} for name, _ in constexprs]
    kernel = {"name": "kernel", "params": params, "attrs": {}, "options": {},
              "constexprs": {str(first + i): v for i, (_, v) in enumerate(constexprs)}}
    assert names
    return Machine(interpreter.front_end(kernel, text), "kernel", Memory(arrays), **choices), values


def launch(body, grid, args, *rest, **options):
    """Runs such a kernel on a grid of one to three sizes."""
    made, values = machine(body, args, *rest, **options)
    made.launch((list(grid) + [1, 1])[:3], values)
