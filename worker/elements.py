"""Element types of TTIR as numpy arrays, and elementwise operations on them.

Half types are in registers as float32 and are rounded after each operation. For +, -, *, / and sqrt
this gives exactly the half operation's result, as float32 has more than twice the bits. Memory holds
them in their own width.
"""

import re

import numpy as np
import torch

from approximations import FAST, divide
from refusal import Refused

REGISTER = {"f64": np.float64, "f32": np.float32, "f16": np.float32, "bf16": np.float32,
            "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "i1": np.bool_,
            "index": np.int64, "ptr": np.int64}
MEMORY = {**REGISTER, "f16": np.float16, "bf16": np.uint16, "i1": np.uint8}
_UNSIGNED = {np.dtype(np.int8): np.uint8, np.dtype(np.int16): np.uint16,
             np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64,
             np.dtype(np.bool_): np.uint8}


def unsupported(what):
    return Refused("unsupported", "the interpreter cannot run %s" % what)


def register_type(element):
    try:
        return REGISTER[element]
    except KeyError:
        raise unsupported("values of type %s" % element) from None


def round_bf16(x):
    """float32 rounded to the nearest bfloat16, ties to even."""
    bits = x.view(np.uint32)
    rounded = (bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(x), x, rounded.view(np.float32))


def truncate_tf32(x):
    """What a tensor core takes of a float32 operand: it ignores the last 13 bits."""
    return (np.ascontiguousarray(x).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def settle(x, element):
    """A result in its register type, rounded to what `element` can hold."""
    dtype = register_type(element)
    if x.dtype != dtype:
        x = x.astype(dtype)
    if element == "f16":
        return x.astype(np.float16).astype(np.float32)
    if element == "bf16":
        return round_bf16(np.ascontiguousarray(x))
    return x


def to_memory(x, element):
    if element == "f16":
        return x.astype(np.float16)
    if element == "bf16":
        return (round_bf16(np.ascontiguousarray(x)).view(np.uint32) >> 16).astype(np.uint16)
    return x.astype(MEMORY[element], copy=False)


def from_memory(x, element):
    if element == "bf16":
        return (x.astype(np.uint32) << 16).view(np.float32)
    if element == "i1":
        return x != 0
    return x.astype(register_type(element), copy=False)


def unsigned(x):
    return x.view(_UNSIGNED[x.dtype]) if x.dtype in _UNSIGNED else x


def _signed_like(x, like):
    return x.astype(like.dtype) if like.dtype == np.bool_ else x.view(like.dtype)


def _on_unsigned(operation):
    def run(a, b):
        return _signed_like(operation(unsigned(a), unsigned(b)), a)
    return run


def _divides(operation):
    """Returns an integer division. A device's result of a division by zero is unspecified. Here all
    its bits are set, so that a kernel that relies on it goes wrong."""
    def run(a, b):
        return np.where(b == 0, ~np.zeros_like(a), operation(a, b))
    return run


def _truncated_division(a, b):
    """C's division: towards zero."""
    quotient = a // b
    return quotient + ((quotient * b != a) & ((a < 0) != (b < 0)))


def _truncated_remainder(a, b):
    return a - _truncated_division(a, b) * b


def _logical(operation, on_bool):
    def run(a, b):
        return on_bool(a, b) if a.dtype == np.bool_ else operation(a, b)
    return run


def _high_product(a, b):
    bits = a.dtype.itemsize * 8
    a, b = unsigned(a), unsigned(b)
    if bits < 64:
        return ((a.astype(np.uint64) * b.astype(np.uint64)) >> np.uint64(bits)).astype(a.dtype)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = (middle & low) + a0 * b1
    return a1 * b1 + (middle >> half) + (other >> half)


def _shift(operation):
    def run(a, b):
        return operation(a, b.astype(a.dtype))
    return run


BINARY = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
    "arith.divf": np.divide, "arith.remf": np.fmod, "tt.precise_divf": np.divide,
    "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "arith.addi": _logical(np.add, np.logical_xor),
    "arith.subi": _logical(np.subtract, np.logical_xor),
    "arith.muli": _logical(np.multiply, np.logical_and),
    "arith.divsi": _divides(_truncated_division), "arith.remsi": _divides(_truncated_remainder),
    "arith.divui": _on_unsigned(_divides(np.floor_divide)),
    "arith.remui": _on_unsigned(_divides(np.remainder)),
    "arith.floordivsi": _divides(np.floor_divide),
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
    "arith.shli": _shift(np.left_shift), "arith.shrsi": _shift(np.right_shift),
    "arith.shrui": _on_unsigned(np.right_shift),
    "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.maxui": _on_unsigned(np.maximum), "arith.minui": _on_unsigned(np.minimum),
    "tt.mulhiui": lambda a, b: _signed_like(_high_product(a, b), a),
}


def _by_torch(function):
    def run(x):
        return function(torch.from_numpy(np.ascontiguousarray(x))).numpy()
    return run


UNARY = {
    "math.exp": np.exp, "math.exp2": np.exp2, "math.log": np.log, "math.log2": np.log2,
    "math.sqrt": np.sqrt, "tt.precise_sqrt": np.sqrt, "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.sin": np.sin, "math.cos": np.cos, "math.tan": np.tan, "math.tanh": np.tanh,
    "math.absf": np.abs, "math.absi": np.abs, "math.floor": np.floor, "math.ceil": np.ceil,
    "math.trunc": np.trunc, "math.round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "math.roundeven": np.rint, "math.erf": _by_torch(torch.erf), "math.log1p": np.log1p,
    "math.expm1": np.expm1, "arith.negf": np.negative,
}

_ORDERED = {"eq": np.equal, "gt": np.greater, "ge": np.greater_equal, "lt": np.less,
            "le": np.less_equal}


def compare_floats(predicate, a, b):
    nan = np.isnan(a) | np.isnan(b)
    if predicate in ("ord", "uno"):
        return nan if predicate == "uno" else ~nan
    if predicate in ("true", "false"):
        return np.full_like(nan, predicate == "true")
    kind, relation = predicate[0], predicate[1:]
    if relation == "ne":
        found = np.not_equal(a, b)
    else:
        found = _ORDERED[relation](a, b)
    return (found & ~nan) if kind == "o" else (found | nan)


def compare_integers(predicate, a, b):
    if predicate in ("eq", "ne"):
        return np.equal(a, b) if predicate == "eq" else np.not_equal(a, b)
    if predicate[0] == "u":
        a, b = unsigned(a), unsigned(b)
    elif a.dtype == np.bool_:
        a, b = -a.astype(np.int8), -b.astype(np.int8)
    return _ORDERED[predicate[1:]](a, b)


def cast(kind, x, element):
    """arith's conversions."""
    if kind in ("arith.extui", "arith.uitofp"):
        x = unsigned(x) if x.dtype != np.bool_ else x
    elif kind in ("arith.extsi", "arith.sitofp") and x.dtype == np.bool_:
        x = -x.astype(np.int8)
    elif kind == "arith.trunci" and element == "i1":
        return (x & 1).astype(np.bool_)
    elif kind == "arith.fptoui":
        x = np.trunc(x).astype(np.uint64)
    return settle(x, element)


def bits(x, element):
    """A register value as integers of the element's own width."""
    return to_memory(np.ascontiguousarray(x), element)


def _high_signed(a, b):
    """The upper half of a signed product: the unsigned one's, less what a sign bit stands for."""
    high = _high_product(a, b).view(a.dtype)
    return high - np.where(a < 0, b, 0).astype(a.dtype) - np.where(b < 0, a, 0).astype(a.dtype)


def _count_bits(x):
    found = np.unpackbits(np.ascontiguousarray(x)[..., None].view(np.uint8), axis=-1)
    return found.sum(-1).astype(np.int32)


def _leading_zeros(x):
    x, bits = unsigned(np.ascontiguousarray(x)), x.dtype.itemsize * 8
    found = np.full(x.shape, bits, np.int32)
    for place in range(bits):
        found[(x >> np.array(place, x.dtype)) != 0] = bits - 1 - place
    return found


def _gamma(x):
    """The gamma function. Between negative integers its sign is that of (-1)^floor(x)."""
    magnitude = np.exp(_by_torch(torch.lgamma)(x.astype(np.float64)))
    pole = (x <= 0) & (x == np.floor(x))
    odd = np.fmod(np.floor(x), 2) != 0
    signed = np.where((x < 0) & odd, -magnitude, magnitude)
    return np.where(pole, np.where(x == 0, np.copysign(np.inf, x), np.nan), signed)


_LIBDEVICE_1 = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(x.dtype.type(10), x),
    "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt,
    "rcbrt": lambda x: 1 / np.cbrt(x), "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "fabs": np.abs, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "rint": np.rint, "nearbyint": np.rint, "round": UNARY["math.round"],
    "erf": _by_torch(torch.erf), "erfc": _by_torch(torch.erfc), "erfinv": _by_torch(torch.erfinv),
    "lgamma": _by_torch(torch.lgamma), "tgamma": _gamma,
    "normcdf": _by_torch(torch.special.ndtr), "normcdfinv": _by_torch(torch.special.ndtri),
    "erfcx": _by_torch(torch.special.erfcx), "j0": _by_torch(torch.special.bessel_j0),
    "j1": _by_torch(torch.special.bessel_j1), "cyl_bessel_i0": _by_torch(torch.special.i0),
    "cyl_bessel_i1": _by_torch(torch.special.i1), "saturate": lambda x: np.clip(x, 0, 1),
    "sinpi": lambda x: np.sin(np.pi * x), "cospi": lambda x: np.cos(np.pi * x),
    "isnan": np.isnan, "isinf": np.isinf, "finite": np.isfinite, "isfinite": np.isfinite,
    "sqrt_rn": np.sqrt, "rcp_rn": lambda x: 1 / x, "rsqrt_rn": lambda x: 1 / np.sqrt(x),
    "llabs": np.abs, "llrint": np.rint, "lrint": np.rint, "llround": UNARY["math.round"],
    "lround": UNARY["math.round"],
    "popc": _count_bits, "popcll": _count_bits, "clz": _leading_zeros, "clzll": _leading_zeros,
    "signbit": np.signbit, "logb": lambda x: np.floor(np.log2(np.abs(x))),
}
_LIBDEVICE_2 = {
    "pow": np.power, "powi": np.power, "fmod": np.fmod, "remainder": lambda x, y:
    x - y * np.rint(x / y), "fmin": np.fmin, "fmax": np.fmax, "min": np.minimum, "max": np.maximum,
    "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
    "fdim": lambda x, y: np.maximum(x - y, 0), "nextafter": np.nextafter,
    "fdivide": divide, "div_rn": np.divide, "add_rn": np.add, "mul_rn": np.multiply,
    "sub_rn": np.subtract, "ldexp": np.ldexp, "scalbn": np.ldexp, "mulhi": _high_signed,
    "mul64hi": _high_signed, "umulhi": _high_product, "umul64hi": _high_product,
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
}


_ROUNDED = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
_CONVERTED = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64,
              "float": np.float32, "double": np.float64, "longlong": np.int64}
_CONVERSION = re.compile("(float|double|int|uint|ll|ull)2(float|double|int|uint|ll|ull)_(r[nzdu])")
_SAME_BITS = re.compile("(float|double|int|uint|longlong)_as_(float|double|int|uint|longlong)")
_ROUNDS = re.compile("[fd]?(add|sub|mul|div|sqrt|rcp|rsqrt)_rn")


def _converted(x, source, target, mode):
    """CUDA's conversions. Floats too large for an integer become the nearest one, and NaN becomes 0."""
    source, target = _CONVERTED[source], _CONVERTED[target]
    if np.issubdtype(target, np.floating):
        x = unsigned(x) if np.issubdtype(source, np.unsignedinteger) else x
        if mode != "rn":
            raise unsupported("conversions to floats that do not round to nearest")
        return x.astype(target)
    if np.issubdtype(source, np.integer):
        return x.astype(target)
    x, limits = _ROUNDED[mode](np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf)), np.iinfo(target)
    inside = np.where((x >= float(limits.min)) & (x < float(limits.max) + 1), x, 0).astype(target)
    found = np.where(x < float(limits.min), limits.min, np.where(x >= float(limits.max), limits.max, inside))
    return found.astype(target).view("i%d" % target().itemsize)


def libdevice(symbol, arguments):
    """CUDA's device library by symbol: __nv_erff, __nv_fast_expf, ..."""
    name = symbol.removeprefix("__nv_")
    if name.startswith("fast_"):
        fast = FAST.get(name.removeprefix("fast_"))
        if fast is None:
            raise unsupported("the device function %s" % symbol)
        return fast(*arguments)
    table = {1: _LIBDEVICE_1, 2: _LIBDEVICE_2}.get(len(arguments), {})
    rounds = _ROUNDS.fullmatch(name)
    if rounds:
        name = rounds[1] + "_rn"
    for candidate in (name, name[:-1] if name.endswith(("f", "d")) else name):
        if candidate in table:
            return table[candidate](*arguments)
    if name in ("fma", "fmaf", "fma_rn", "fmaf_rn"):
        return fused(*arguments)
    conversion, bits = _CONVERSION.fullmatch(name), _SAME_BITS.fullmatch(name)
    if conversion:
        return _converted(*arguments, *conversion.groups())
    if bits:
        return np.ascontiguousarray(*arguments).view(_CONVERTED[bits[2]])
    raise unsupported("the device function %s" % symbol)


def fused(a, b, c):
    """a * b + c rounded once, for float32: a product of two is exact in float64."""
    if a.dtype == np.float32:
        return (a.astype(np.float64) * b + c).astype(np.float32)
    return a * b + c
