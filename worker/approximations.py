"""The fast approximations of NVIDIA's special function units, with about the error that they have.

A verdict without a GPU must not take `tanh.approx` for a tanh. The errors are those of the PTX manual
and of the table "Intrinsic functions" in CUDA's programming guide; bench/fast_functions.py measures
them on a device.
"""

import numpy as np

_LOG2_E, _LOG2_10 = np.float32(np.log2(np.e)), np.float32(np.log2(10))
_LN_2, _LOG10_2 = np.float32(np.log(2)), np.float32(np.log10(2))
_TURN = np.float32(1 / (2 * np.pi))


def _to_bits(x, bits):
    """Multiples of 2**-bits: an absolute error."""
    return (np.rint(x * np.float32(2.0 ** bits)) * np.float32(2.0 ** -bits)).astype(np.float32)


def _angle(x):
    """The argument by whole turns, whose number is a float32: what is lost there grows with x."""
    turns = (x * _TURN).astype(np.float32)
    return (turns - np.rint(turns)).astype(np.float64) * (2 * np.pi)


def ex2(x):
    return np.exp2(x)


def lg2(x):
    return np.where((x > 0.5) & (x < 2), _to_bits(np.log2(x), 22), np.log2(x))


def rcp(x):
    return 1 / x


def rsqrt(x):
    return 1 / np.sqrt(x)


def sin(x):
    return _to_bits(np.sin(_angle(x)), 21)


def cos(x):
    return _to_bits(np.cos(_angle(x)), 21)


def tanh(x):
    """Eleven bits are right."""
    return (np.tanh(x).view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32)


def divide(x, y):
    """A divisor beyond 2**126 gives zero, because its reciprocal is flushed."""
    return np.where(np.abs(y) > np.float32(2.0 ** 126), np.copysign(0, x) * np.sign(y), x / y)


# CUDA's device functions by name, made of these as its library makes them.
FAST = {
    "expf": lambda x: ex2(x * _LOG2_E), "exp10f": lambda x: ex2(x * _LOG2_10),
    "logf": lambda x: lg2(x) * _LN_2, "log2f": lg2, "log10f": lambda x: lg2(x) * _LOG10_2,
    "sinf": sin, "cosf": cos, "tanf": lambda x: sin(x) / cos(x),
    "powf": lambda x, y: ex2(y * lg2(x)), "fdividef": divide,
}
