"""What a kernel promises to the compiler about numbers: tl.multiple_of, max_contiguous, max_constancy.

A promise lets the compiler join accesses to vectors, of 16 bytes at most. Triton's own tutorials promise
more than that of rows that wrap around. So a promise is held to what such a vector takes, and no further.
The hints are those of Triton's AxisInfo: of each dimension, `contiguity` neighbours count up by one, the
first of them is a multiple of `divisibility`, and `constancy` neighbours are equal.
"""

import numpy as np

import elements
from memory import Fault

VECTOR_BYTES = 16


def vector(operations):
    """How many elements of a kernel's narrowest memory a vector holds."""
    sizes = [np.dtype(elements.MEMORY.get(kind.element, np.int64)).itemsize
             for op in operations if op.kind == "tt.load" for kind in op.types]
    return VECTOR_BYTES // min(sizes, default=1)


def check(op, value, most):
    """Raises Fault if `value`, instances first, breaks what `op` promises. `most`: of a vector."""
    step = 1
    if op.types[0].element == "ptr":
        step = np.dtype(elements.MEMORY.get(op.types[0].pointee, np.int64)).itemsize
    divisors = op.hints.get("divisibility", [])
    contiguous, constant = op.hints.get("contiguity", []), op.hints.get("constancy", [])
    if not op.types[0].shape:
        value, divisors, contiguous, constant = value[:, None], divisors[:1], [], []
    for axis in range(1, value.ndim):
        def of(numbers):
            return min(numbers[axis - 1], most, value.shape[axis]) if axis <= len(numbers) else 1
        run = of(contiguous)
        if _broken(value, axis, run, step):
            raise Fault("breaks its own promise: tl.max_contiguous() of elements that are not contiguous")
        if _broken(value, axis, of(constant), 0):
            raise Fault("breaks its own promise: tl.max_constancy() of elements that are not equal")
        divisor = min(divisors[axis - 1], most * step) if axis <= len(divisors) else 1
        while run < min(most, value.shape[axis]) and not contiguous and not _broken(value, axis, 2 * run, step):
            run *= 2
        first = value.take(range(0, value.shape[axis], run), axis)
        if (first % divisor).any():
            raise Fault("breaks its own promise: tl.multiple_of(..., %d) of %d"
                        % (divisors[axis - 1], first[first % divisor != 0].flat[0]))


def _broken(value, axis, run, step):
    """Whether some `run` neighbours are not each `step` more than the one before."""
    if run < 2:
        return False
    size = value.shape[axis] // run * run
    groups = np.moveaxis(value, axis, -1)[..., :size].reshape(-1, run)
    return bool((np.diff(groups, axis=1) != step).any())
