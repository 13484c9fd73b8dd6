"""The jobs that run a kernel on the CPU.

`lower`: Triton's own front end turns a slice into TTIR. `interpret`: machine.py runs one launch of
TTIR on buffers that are given as memory descriptors. Compared with Triton's interpreter this
executes the operations and types that the compiler would lower, knows bfloat16 and libdevice,
checks every address, and runs many program instances at once.
"""

import mmap
import os

import numpy as np
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend
from triton.compiler.errors import CompilationError
from triton.runtime.driver import driver
from triton.tools.tensor_descriptor import TensorDescriptor

import slices
from compiler import explain
from launches import RecordingDriver
from machine import Machine
from memory import Fault, Memory
from refusal import Refused
from ttir import Unreadable

# Descriptors are rewritten to plain pointers for architectures that have none.
_ARCH = 80
_DESCRIPTOR_FLAGS = sum(name in TensorDescriptor.__dataclass_fields__
                        for name in ("padding", "round_f32_to_tf32"))


def lower(request):
    """The reply to a lower request, or Refused."""
    return {"status": "ok", "ttir": front_end(request["kernel"], request["slice"])}


def interpret(request, fds):
    """The reply to an interpret request, or Refused. The buffers hold the result."""
    kernel = request["kernel"]
    arrays = [_map(fd, buffer) for fd, buffer in zip(fds, request["buffers"])]
    for fd in fds:
        os.close(fd)  # what is mapped stays
    if len(arrays) != len(request["buffers"]):
        raise Refused("unsupported", "a buffer without its descriptor")
    arguments = launch_arguments(kernel, request)
    grid = [int(n) for n in request["grid"]]
    try:
        machine = Machine(request["ttir"], kernel["name"], Memory(arrays), request.get("seed", 0),
                          request.get("promises", True), request.get("work", float("inf")))
        machine.launch(grid, arguments)
    except Fault as error:
        raise Refused("raised", "kernel %s %s" % (kernel["name"], error)) from None
    except Unreadable as error:
        raise Refused("unsupported", "the interpreter cannot read kernel %s: %s"
                      % (kernel["name"], error)) from None
    return {"status": "ok", "work": machine.counted}


def front_end(kernel, text):
    """The TTIR of a Kernel with this slice."""
    driver.set_active(RecordingDriver({"arch": "sm_%d" % _ARCH}))
    target = GPUTarget("cuda", _ARCH, 32)
    backend = make_backend(target)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = slices.ast_source(kernel, text)
    try:
        module = source.make_ir(target, options, backend.get_codegen_implementation(options),
                                backend.get_module_map(), context)
        module = backend.make_ttir(module, {}, options, _ARCH)
    except CompilationError as error:
        message, _ = explain(error, {})
        raise Refused("compile", "kernel %s: %s" % (kernel["name"], message)) from None
    return str(module)


def _map(fd, buffer):
    """The bytes that a kernel may touch: what lies around them in the file is a guard."""
    if buffer["bytes"] == 0:
        return np.zeros(0, np.uint8)
    whole = np.frombuffer(mmap.mmap(fd, buffer["bytes"]), np.uint8)
    return whole[buffer.get("begin", 0):buffer.get("end", buffer["bytes"])]


def launch_arguments(kernel, request):
    """Returns the TTIR's arguments for a launch's `args` on `buffers`. A host descriptor that was
    rewritten to a pointer becomes that pointer, shape, strides and a flag for each way to pad or round.
    The shape and strides that follow a descriptor come after these."""
    params = [p for p in kernel["params"] if p["type"] != "constexpr"]
    given = [_argument(arg, p["type"], request["buffers"])
             for arg, p in zip(request["args"], params)]
    arguments = []
    for index, param in enumerate(params):
        arguments.append(given[index])
        if param["type"].startswith("tensordesc<"):
            rank = param["type"].count(",") + 1
            arguments += given[index + 1:index + 1 + 2 * rank]
            arguments += [False] * _DESCRIPTOR_FLAGS
    return arguments


def _argument(arg, kind, buffers):
    if isinstance(arg, dict) and "buffer" in arg:
        if not 0 <= arg["buffer"] < len(buffers):
            raise Refused("unsupported", "an argument in no buffer")
        begin = buffers[arg["buffer"]].get("begin", 0)
        return Memory.address(arg["buffer"], int(arg.get("offset") or 0) - begin)
    if isinstance(arg, dict) and "f" in arg:
        return float(arg["f"])
    if arg is None and kind.startswith("*"):
        return 0
    return arg


_WARM_UP = '''import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        s += tl.exp(v) + tl.sum(v, 0)
    tl.store(y + i, s + tl.sigmoid(v), mask=i < n)
'''


def warm_up():
    """Runs a small kernel, so that the first job finds Triton's front end loaded."""
    names = ["x", "y", "n", "BLOCK"]
    kernel = {"name": "kernel", "constexprs": {"3": 32}, "attrs": {}, "options": {},
              "params": [{"name": n, "type": t} for n, t in
                         zip(names, ["*fp32", "*fp32", "i32", "constexpr"])]}
    memory = Memory([np.zeros(256, np.uint8), np.zeros(256, np.uint8)])
    machine = Machine(front_end(kernel, _WARM_UP), "kernel", memory)
    machine.launch([2, 1, 1], [Memory.address(0, 0), Memory.address(1, 0), 50])
