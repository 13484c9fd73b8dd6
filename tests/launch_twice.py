"""Launches kernels that Triton compiled for a GPU, by Triton's launcher and by an export's with kernelwright_host. The
driver (fake_driver.cc) prints a line for each: two equal ones for each kernel.

    python tests/launch_twice.py FOLDER/optimized.py
"""

import os
import sys
import types
from pathlib import Path

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import CudaLauncher, CudaUtils
from triton.compiler import ASTSource
from triton.tools.tensor_descriptor import TensorDescriptor

from truth_calls import load

BYTES = dict(i1=4, u1=4, i8=1, u8=1, i16=2, u16=2, i32=4, u32=4, i64=8, u64=8, fp32=4, fp64=8)
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "i8": torch.int8, "i32": torch.int32}


@triton.jit
def numbers(a, b, c, d, e, f, g, h, x, none, COUNT: tl.constexpr):
    value = a + b + c + d + e.to(tl.int32) + f.to(tl.int32) + g + h
    tl.store(x + tl.arange(0, COUNT), value)


@triton.jit
def one(x, n, out, s, COUNT: tl.constexpr):
    tl.store(out + tl.arange(0, COUNT), x.load([n]).to(tl.float32) * s)


@triton.jit
def two(x, y, n, out, s, COUNT: tl.constexpr):
    rows = tl.sum(x.load([n, 0]).to(tl.float32), 1) + tl.sum(y.load([0, n]).to(tl.float32), 1)
    tl.store(out + tl.arange(0, COUNT), rows * s)


@triton.jit
def three(x, n, out, s, COUNT: tl.constexpr):
    rows = tl.sum(tl.sum(x.load([n, 0, 0]).to(tl.float32), 2), 1)
    tl.store(out + tl.arange(0, COUNT), rows * s)


@triton.jit
def five(x, n, out, s, COUNT: tl.constexpr):
    block = x.load([n, 0, 0, 0, 0]).to(tl.float32)
    tl.store(out + tl.arange(0, COUNT), tl.sum(tl.reshape(block, [COUNT, 16]), 1) * s)


def cases():
    """Kernel, arguments, {position: (shape, strides, block)}, types of those that are no descriptors."""
    x = torch.zeros(1 << 16)
    yield numbers, [True, -2, 3, -4, 2.5, -0.1, 2**31 + 1, 2**40, x.int(), None], {}, \
        ["i1", "i8", "i16", "i32", "fp32", "fp64", "u32", "i64", "*i32", "*fp32"]
    plain = ["i32", "*fp32", "fp32"]
    for dtype in DTYPES:
        at = x.view(torch.int8)[64:].view(DTYPES[dtype])
        yield one, [at, 3, x, 0.5], {0: ([500], [1], [32])}, [dtype, *plain]
        yield two, [at, at[160:], 7, x, 0.5], {0: ([33, 64], [64, 1], [32, 64]), 1: ([40, 70], [80, 1], [32, 32])}, \
            [dtype, dtype, *plain]
        yield three, [at, 7, x, 0.5], {0: ([33, 2, 32], [64, 32, 1], [32, 2, 32])}, [dtype, *plain]
        yield five, [at, 7, x, 0.5], {0: ([33, 5, 3, 2, 16], [480, 96, 32, 16, 1], [32, 1, 1, 1, 16])}, [dtype, *plain]


def main():
    export = load(Path(sys.argv[1]), "launch_twice_export")
    assert export._kw_host.VERSION
    sys.setdlopenflags(os.RTLD_LAZY)  # Triton's module names more functions than this driver has
    triton.runtime.driver.set_active(types.SimpleNamespace(utils=CudaUtils(), launcher_cls=CudaLauncher))
    for kernel, args, layouts, kinds in cases():
        kinds = [kind if at not in layouts else "tensordesc<%s%s>" % (kind, layouts[at][2])
                 for at, kind in enumerate(kinds)]
        names = kernel.arg_names
        source = ASTSource(kernel, dict(zip(names, [*kinds, "constexpr"])), {(len(kinds),): 32})
        compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 2})
        compiled.function, compiled._run = 0xabc, CudaLauncher(source, compiled.metadata)
        sizes = []
        for at, kind in enumerate(kinds):
            rank = len(layouts[at][0]) if at in layouts else 0
            sizes += [128, *[4] * rank, *[8] * rank] if rank else [8 if kind[0] == "*" else BYTES[kind]]
        os.environ["PARAMETERS"] = " ".join(map(str, [*sizes, 8, 8]))
        launch = export._kw_Launch(None, (5, 3, 2), {"COUNT": 32}, {"num_warps": 2},
                                   {at: (TensorDescriptor, *layout) for at, layout in layouts.items()})
        launch.compiled[0] = compiled
        direct = launch.directly(compiled)
        assert direct is not None
        # Other tensors at the same places, and then the first again: maps are kept by address.
        others = [arg[32:] if at in layouts else arg for at, arg in enumerate(args)]
        for given in (args, others, args) if layouts else (args,):
            for way in (None, direct):
                launch.direct[0] = way
                launch((0, 77), *given)


if __name__ == "__main__":
    main()
