"""What Triton's interpreter lacks to run exported kernels on a CPU.

The interpreter (TRITON_INTERPRET=1) has no device library, and it computes with bfloat16 as with the
integers that it keeps them in. `complete()` adds both to this process. The interpreter also runs one
launch at a time; a caller with several threads has to hold a lock for each launch.
"""

import dataclasses

import numpy as np
import torch
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.runtime import interpreter

# Device functions that PyTorch has under another name, or not at all.
FUNCTIONS = {
    "fabs": torch.abs, "rint": torch.round, "div_rn": torch.div, "add_rn": torch.add,
    "sub_rn": torch.sub, "mul_rn": torch.mul, "fast_dividef": torch.div,
    "round": lambda x: torch.trunc(x + torch.copysign(torch.tensor(0.5, dtype=x.dtype), x)),
    "normcdf": torch.special.ndtr, "normcdfinv": torch.special.ndtri, "exp10": lambda x: torch.pow(10.0, x),
    "j0": torch.special.bessel_j0, "j1": torch.special.bessel_j1,
    "cbrt": lambda x: torch.copysign(x.abs().double().pow(1 / 3).to(x.dtype), x),
    "fma": lambda a, b, c: (a.double() * b.double() + c.double()).to(a.dtype),
}


def device_function(name):
    """Returns a function of tl.tensors that computes what the device function does, or None."""
    plain = name.removeprefix("fast_").removesuffix("f") if name.startswith("fast_") else name
    computes = FUNCTIONS.get(name) or getattr(torch, plain, None) or getattr(torch.special, plain, None)
    if not callable(computes):
        return None

    def call(*arguments):
        arguments = [interpreter.interpreter_semantic.to_tensor(each) for each in arguments]
        result = computes(*(torch.from_numpy(np.array(each.handle.data)) for each in arguments)).numpy()
        dtype = arguments[0].dtype.scalar
        if result.dtype == bool:  # isnan and the like
            dtype, result = tl.int32, result.astype(np.int32)
        is_block = any(each.type.is_block() for each in arguments)
        handle = interpreter.TensorHandle(result, dtype)
        return tl.tensor(handle, tl.block_type(dtype, list(result.shape)) if is_block else dtype)

    return call


def complete():
    """Completes the interpreter of this process."""
    builder = interpreter.InterpreterBuilder
    if hasattr(builder, "is_complete"):
        return
    builder.is_complete = True
    instance = interpreter.interpreter_builder
    # Integers are not checked for overflow, which takes half of the time; a GPU does not check either.
    instance.options = dataclasses.replace(instance.options, sanitize_overflow=False)
    for library in (libdevice, cuda_libdevice):
        for name in [name for name, value in vars(library).items() if callable(value)]:
            setattr(library, name, device_function(name) or getattr(library, name))

    def widen(self, handle):
        is_half = getattr(handle, "dtype", None) == tl.bfloat16
        return self.cast_impl(handle, tl.float32) if is_half else handle

    def in_float32(compute):
        def call(self, *operands):
            wide = [widen(self, each) for each in operands]
            result = compute(self, *wide)
            rounds = wide[0] is not operands[0] and result.data.dtype == np.float32
            return self.cast_impl(result, tl.bfloat16) if rounds else result

        return call

    def dot(self, a, b, *rest, product=builder.create_dot):
        return product(self, widen(self, a), widen(self, b), *rest)

    def splat(self, ret_ty, arg, spread=builder.create_splat):
        """Comparisons of numbers keep the numbers' type in the interpreter, and are truth values."""
        if arg.data.dtype == bool:
            arg = interpreter.TensorHandle(arg.data, tl.int1)
        return spread(self, ret_ty, arg)

    builder.create_dot = dot
    builder.create_splat = splat
    builder.binary_op = in_float32(builder.binary_op)
    builder.unary_op = in_float32(builder.unary_op)
