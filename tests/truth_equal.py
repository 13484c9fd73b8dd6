"""What is equal to the result of a reference (truth.py): the comparison, and runs that bound its error."""

import dataclasses

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

NARROW = (torch.float32, torch.float16, torch.bfloat16)


class Fault(Exception):
    """The export is not what it must be."""


class Mode(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):  # to skip it would import it, which takes seconds
        return False


class Widened(Mode):
    """Computes in float64. Only random numbers are drawn in their own type."""

    def __init__(self):
        super().__init__()
        self.convolves = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        self.convolves |= func is torch.ops.aten.convolution.default
        draws = torch.Tag.nondeterministic_seeded in func.tags
        if kwargs.get("dtype") in NARROW and not draws:
            kwargs["dtype"] = torch.float64
        writes = func._schema.is_mutable
        if not writes:
            args, kwargs = wide((args, kwargs))
        result = func(*args, **kwargs)
        return result if writes else wide(result)


class Tf32(Mode):
    """Convolves in TF32, as PyTorch does on a GPU by default."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.convolution.default and args[0].dtype == torch.float32:
            args = (*map(in_tf32, args[:2]), *args[2:])
        return func(*args, **(kwargs or {}))


def in_tf32(tensor):
    """Rounds to 10 bits of fraction, to even."""
    bits = tensor.contiguous().view(torch.int32)
    return ((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF).view(torch.float32)


def wide(tree):
    return pytree.tree_map(
        lambda x: x.double() if isinstance(x, torch.Tensor) and x.dtype in NARROW else x, tree)


def flat(tree):
    """The leaves of a result, and its structure. Classes go by name: each file has its own."""
    if dataclasses.is_dataclass(tree):
        parts = {field.name: getattr(tree, field.name) for field in dataclasses.fields(tree)}
    elif isinstance(tree, dict):
        parts = tree
    elif isinstance(tree, (list, tuple)):
        parts = dict(enumerate(tree))
    else:
        return [tree], "*"
    is_plain = isinstance(tree, tuple) and not hasattr(tree, "_fields")  # as PyTorch's own, too
    leaves, structures = [], []
    for key, part in parts.items():
        inner, structure = flat(part)
        leaves += inner
        structures.append(f"{key}: {structure}")
    return leaves, f"{'tuple' if is_plain else type(tree).__name__}({', '.join(structures)})"


def numbers(tensor):
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).double()


class Expected:
    """What a call has to give: the reference's own tree, and what bounds its error.

    `exact` is the tree in float64, `rounded` the tree as a GPU computes it. Both may be None.
    """

    def __init__(self, tree, exact=None, rounded=None):
        self.leaves, self.structure = flat(tree)
        self.further = [flat(each)[0] for each in (exact, rounded)]

    def check(self, what, got):
        """Throws a Fault unless `got` is equal."""
        gots, structure = flat(got)
        if structure != self.structure:
            raise Fault(f"{what}: {structure} instead of {self.structure}")
        for i, (want, leaf) in enumerate(zip(self.leaves, gots)):
            says = self.differs(i, want, leaf)
            if says:
                raise Fault(f"{what} {i} {says}")

    def differs(self, i, want, got):
        if not isinstance(want, torch.Tensor):
            is_equal = type(want) is type(got) and (want == got or want != want and got != got)
            return "" if is_equal else f"is {got} instead of {want}"
        like = [(t.dtype, tuple(t.shape), t.device) if isinstance(t, torch.Tensor) else t for t in (want, got)]
        if like[0] != like[1]:
            return f"is {like[1]} instead of {like[0]}"
        if not (want.is_floating_point() or want.is_complex()):
            return "" if torch.equal(want, got) else "differs"
        exact, rounded = (leaves[i] if len(leaves) == len(self.leaves) else None for leaves in self.further)
        # A shape that depends on data may be another one in float64.
        exact = exact if isinstance(exact, torch.Tensor) and exact.shape == want.shape else None
        return floats_differ(want, got, exact, rounded)


def floats_differ(want, got, exact=None, rounded=None):
    """What is wrong with the floating-point tensor `got`, "" if nothing."""
    unit = torch.finfo(want.dtype).eps
    want, got = numbers(want), numbers(got)
    if not torch.equal(want.isnan(), got.isnan()) or not torch.equal(want.isinf(), got.isinf()):
        return "has NaN or infinity elsewhere"
    if not torch.equal(want[want.isinf()], got[want.isinf()]):
        return "has infinity of another sign"
    finite = want.isfinite()
    if not finite.any():
        return ""
    want, got = want[finite], got[finite]
    exact, rounded = (None if x is None else numbers(x)[finite] for x in (exact, rounded))
    measures = {"root mean square": (lambda x: x.square().mean().sqrt().item(), 16),
                "worst element": (lambda x: x.abs().max().item(), 64)}
    for name, (measure, floor) in measures.items():
        scale = measure(want)
        # Without an oracle, or with one of other random numbers, half of the digits have to agree.
        allowed = unit ** 0.5 * scale
        if exact is not None:
            own = max(measure(x - exact) for x in (want, rounded) if x is not None)
            allowed = min(max(8 * own, floor * unit * scale), allowed)
        off = measure(got - want)
        if not off <= allowed + torch.finfo(torch.float32).tiny:
            return f"is off by {off:.2e} of {scale:.2e} ({name}, allowed {allowed:.2e})"
    return ""
