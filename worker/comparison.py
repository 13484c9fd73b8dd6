"""The `compare` job: whether two runs of `run` jobs (plain.py) gave the same. Both are hostile input: what
makes no sense is an exception, and the job then has no answer."""

import math

import torch

from plain import CALLS

_STATES = [state for state, calls in CALLS.items() for _ in range(calls)]
_MOST_DEPTH = 64


def compare(request, blobs):
    """The reply: `difference` is the first one as one line, and empty if there is none."""
    ours, theirs = request["ours"], request["theirs"]
    split = int(request["blobs_of_ours"])
    runs = [_Run(ours, blobs[:split]), _Run(theirs, blobs[split:])]
    if not 0 < len(theirs) <= len(ours) <= len(_STATES):
        raise ValueError("%d calls to compare with %d" % (len(theirs), len(ours)))
    for number, (a, b) in enumerate(zip(ours, theirs), start=1):
        difference = _of_calls(runs, a, b)
        if difference:
            where = "call %d (%s)" % (number, _STATES[number - 1])
            return {"status": "ok", "difference": "%s: %s" % (where, difference)}
    return {"status": "ok", "difference": ""}


class _Run:
    """The calls of one run, and its blobs."""

    def __init__(self, calls, blobs):
        self.calls, self.blobs = calls, blobs

    def tensor(self, leaf):
        dtype, shape = getattr(torch, leaf["dtype"]), leaf["shape"]
        blob = self.blobs[leaf["blob"]]
        if not isinstance(dtype, torch.dtype) or not all(type(n) is int and n >= 0 for n in shape) \
                or math.prod(shape) * dtype.itemsize != len(blob):
            raise ValueError("no such tensor")
        if not blob:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(bytearray(blob), dtype=dtype).view(shape)


def _of_calls(runs, a, b):
    for part in sorted({*a, *b}):
        if part not in b or part not in a:
            return "%s is %s" % (part, "not changed" if part in a else "changed")
        difference = _of_trees(runs, a[part], b[part], 0)
        if difference:
            return part + difference
    return ""


def _of_trees(runs, a, b, depth):
    """What differs, as the end of a sentence."""
    if depth > _MOST_DEPTH:
        raise ValueError("nests too deeply")
    if "blob" in a and "blob" in b:
        return _of_tensors(runs[0].tensor(a), runs[1].tensor(b))
    if "items" in a and "items" in b:
        names = [[str(key) for key, _ in tree["items"]] for tree in (a, b)]
        if a["type"] != b["type"] or names[0] != names[1]:
            return " is another structure"
        for (name, one), (_, other) in zip(a["items"], b["items"]):
            difference = _of_trees(runs, one, other, depth + 1)
            if difference:
                return "[%s]%s" % (name, difference)
        return ""
    if "literal" in a and "literal" in b:
        return "" if a["literal"] == b["literal"] else " is %s instead of %s" % (b["literal"], a["literal"])
    return " is another structure"


def _of_tensors(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        kinds = ["%s %s" % (str(t.dtype).removeprefix("torch."), list(t.shape)) for t in (b, a)]
        return " is %s instead of %s" % tuple(kinds)
    if a.dtype.is_complex:
        a, b = torch.view_as_real(a), torch.view_as_real(b)
    if not a.dtype.is_floating_point:
        return "" if torch.equal(a, b) else " differs"
    digits = torch.finfo(a.dtype).eps ** 0.5
    a, b = a.double(), b.double()
    finite = a.isfinite()
    if not torch.equal(finite, b.isfinite()) or not torch.equal(a[~finite].nan_to_num(), b[~finite].nan_to_num()):
        return " has NaN or infinity elsewhere"
    a, b = a[finite], b[finite]
    if not a.numel():
        return ""
    # Half of the digits agree, in the mean and in the worst element. Both ran on one machine, by one
    # interpreter: what is right differs by the order of sums.
    for name, measure in (("mean", lambda x: x.square().mean().sqrt().item()),
                          ("worst element", lambda x: x.abs().max().item())):
        off, allowed = measure(a - b), digits * measure(a)
        if not off <= allowed:
            return " is off by %.2e (%s, allowed %.2e)" % (off, name, allowed)
    return ""
