"""What of Triton's language a kernel may name."""

import builtins

import triton
import triton.language as tl
from triton.language.extra import cuda
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.runtime.jit import ConstexprFunction, JITFunction

BUILTINS = {"range", "min", "max", "len", "int", "float", "bool", "tuple", "isinstance", "list",
            "True", "False", "None"}
EXCEPTIONS = {name for name, value in vars(builtins).items()
              if isinstance(value, type) and issubclass(value, Exception)}
FROM_TRITON = {"language", "cdiv", "next_power_of_2"}
_FORBIDDEN_MEMBERS = {"handle", "to_ir", "mangle", "str_to_ty", "builtin", "constexpr_function",
                      "extern_elementwise", "dispatch"}
_TYPES = (tl.constexpr, tl.const, tl.tensor, tl.dtype, tl.pointer_type, tl.block_type,
          tl.tensor_descriptor, tl.tuple, tl.PropagateNan, tl.range, tl.static_range)


class _Cuda:
    """triton.language.extra.cuda as kernels may see it: no clocks and no numbers of processors."""
    libdevice = cuda_libdevice
    gdc_wait, gdc_launch_dependents = cuda.gdc_wait, cuda.gdc_launch_dependents
    num_threads, num_warps = cuda.num_threads, cuda.num_warps


class _Extra:
    """triton.language.extra as kernels may see it."""
    libdevice = libdevice


EXTRA, CUDA = _Extra, _Cuda
MODULES = {"triton": triton, "triton.language": tl, "triton.language.math": tl.math,
           "triton.language.extra.libdevice": libdevice,
           "triton.language.extra.cuda.libdevice": cuda_libdevice,
           "triton.language.core": tl.core, "triton.language.standard": tl.standard,
           "triton.language.extra": EXTRA, "triton.language.extra.cuda": CUDA}


def _public_members(*owners):
    return {name for owner in owners for name in dir(owner)
            if not name.startswith("_")} - _FORBIDDEN_MEMBERS


# Attributes of values inside a kernel: tensors, types, constexprs, descriptors.
VALUE_MEMBERS = _public_members(tl.tensor, tl.dtype, tl.block_type, tl.pointer_type, tl.constexpr,
                                tl.tensor_descriptor) | {
    "value", "shape", "strides", "dtype", "type", "element_ty", "numel", "T", "block_shape",
    "block_type", "address_space", "primitive_bitwidth", "scalar",
    "ALL", "NONE"}  # of tl.PropagateNan


def allowed_member(module, name):
    """Whether a kernel may name `module.name`: Triton's own functions and types, no helpers of the
    compiler and no modules that Triton happens to import."""
    if name.startswith("__") or name in _FORBIDDEN_MEMBERS:
        return False
    if module is triton:
        return name in FROM_TRITON
    if (module is tl and name == "extra") or (module is EXTRA and name == "cuda"):
        return True
    value = getattr(module, name, None)
    if name.startswith("_"):  # of Triton's own functions, some of which libraries use
        return isinstance(value, (JITFunction, ConstexprFunction)) and _is_of_language(value)
    if value in (tl.math, libdevice, cuda_libdevice):
        return True
    if isinstance(value, (tl.dtype, JITFunction)):
        return True
    if isinstance(value, type):
        return value in _TYPES
    if value is None or not callable(value):
        return False
    return _is_of_language(value) and (
        tl.core.is_builtin(value) or isinstance(value, ConstexprFunction)
        or type(value).__name__ == "InterpretedFunction"
        or value.__module__.endswith("libdevice"))


def _is_of_language(value):
    return (getattr(value, "__module__", "") or "").startswith("triton.language")
