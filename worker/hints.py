"""What a kernel promises to the compiler about numbers: tl.multiple_of, max_contiguous, max_constancy.

A promise lets the compiler join accesses to vectors, of 16 bytes at most. Triton's own tutorials promise
more than that of rows that wrap around. So a promise is held to what such a vector takes, and no further.
A promise that reaches no address or mask joins nothing. A product with a stride ends each promise but
that of a single number's divisor.

The hints are those of Triton's AxisInfo: of each dimension, `contiguity` neighbours count up by one, the
first of them is a multiple of `divisibility`, and `constancy` neighbours are equal.
"""

import numpy as np

import elements
from memory import Fault

VECTOR_BYTES = 16
# Operations through which AxisInfo follows a tensor's hints. Comparisons make masks, which vectors share.
_FOLLOWED = {"arith.addi", "arith.subi", "arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast",
             "arith.select", "arith.cmpi", "arith.andi", "arith.ori", "tt.addptr", "tt.splat",
             "tt.broadcast", "tt.expand_dims", "tt.trans"}
# Numbers that wrap around, as rows in Triton's tutorials do. Beside a stride they break where the stride
# is no multiple of a vector, and then the compiler joins nothing.
_WRAPS = {"arith.remsi", "arith.remui", "arith.select"}
_ACCESSES = {"tt.load": (0, 1), "tt.store": (0, 2), "tt.atomic_rmw": (0, 2), "tt.atomic_cas": (0,)}


def promising(function):
    """The operations whose hints reach an address or a mask of the function."""
    operations = list(function.operations())
    hinted = [op for op in operations if op.hints]
    if not hinted:
        return set()
    made = _sources(operations)
    wraps = {op.results[0] for op in hinted if op.kind in _WRAPS}
    added, multiplied = set(), set()
    for op in operations:
        for place in _ACCESSES.get(op.kind, ()):
            if place >= len(op.operands):
                continue
            found = _behind([op.operands[place]], made, _FOLLOWED)
            has_stride = any(made.get(name, ("",))[0] == "arith.muli" for name in found)
            added |= found - wraps if has_stride else found
            multiplied |= _behind([op.operands[place]], made, _FOLLOWED | {"arith.muli"})
    return {op.results[0] for op in hinted
            if op.results[0] in (added if op.types[0].shape else multiplied)}


def _sources(operations):
    """Name -> (kind of the operation that makes it, names it is made of). What loops and branches hand on
    is made of what they are given and what they yield."""
    made = {}
    for op in operations:
        yielded = [blocks[-1].operations[-1].operands for blocks in op.regions
                   if blocks[-1].operations and blocks[-1].operations[-1].kind == "scf.yield"]
        if op.kind == "scf.for":
            inside = [name for name, _ in op.regions[0][0].arguments[1:]]
            for names in (inside, op.results):
                for name, first, *rest in zip(names, op.operands[3:], *yielded):
                    made[name] = ("arith.select", [first, *rest])
        elif op.kind == "scf.if":
            for name, *values in zip(op.results, *yielded):
                made[name] = ("arith.select", values)
        else:
            made.update((name, (op.kind, op.operands)) for name in op.results)
    return made


def _behind(names, made, kinds):
    """The names, and what they are made of by operations of these kinds."""
    found, left = set(), list(names)
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        kind, operands = made.get(name, ("", []))
        if kind in kinds:
            left += operands
    return found


def vector(operations):
    """How many elements of a kernel's narrowest load a vector holds."""
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
