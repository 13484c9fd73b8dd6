"""What `synth_problems` prints, in plain integers: sizes from the free ones, and which constraint they
break. src/synth/problems_main.cc says what the members are."""

import math

LARGEST_SIZE = 8192


def fill(problem, free):
    """All slots."""
    slots = list(free)
    for made in problem["code"]:
        kind, a, b = made["kind"], made["a"], made["b"]
        if kind == "affine":
            slots.append(made["mul"] * ((slots[a] + made["add"]) // made["div"]) + made["plus"])
        elif kind == "sum":
            slots.append(slots[a] + slots[b])
        elif kind == "split":
            slots.append(made["mul"] * slots[a] + made["plus"] + slots[b])
        elif kind == "constant":
            slots.append(made["plus"])
        else:
            raise ValueError("no such kind of size: %s" % kind)
    return slots


def shapes(problem, slots):
    """Tensor -> shape."""
    return {name: [slots[dim[0]] if isinstance(dim, list) else dim for dim in dims]
            for name, dims in problem["tensors"].items()}


def whole(number):
    if number != int(number):
        raise ValueError("%r is no integer" % number)
    return int(number)


def flops(problem, slots):
    values = [math.prod(slots[slot] for slot in monomial["slots"])
              for monomial in problem["monomials"]]
    return sum(whole(term["coefficient"]) * max(whole(factor) * values[monomial]
                                                for monomial, factor in filter(None, (term["a"], term["b"])))
               for term in problem["terms"])


def broken(problem, free):
    """What these free sizes break, in words: nothing where they are an answer. Elements are counted from
    the tensors' shapes, not from monomials."""
    complaints = []
    for i, (value, (low, high, values)) in enumerate(zip(free, problem["free"], strict=True)):
        if not low <= value <= high or values and value not in values:
            complaints.append("free size %d" % i)
    slots = fill(problem, free)
    for slot, low, high in problem["checks"]:
        if not low <= slots[slot] <= high:
            complaints.append("slot %d" % slot)
    made = shapes(problem, slots)
    for name, shape in made.items():
        if not all(1 <= size <= LARGEST_SIZE for size in shape):
            complaints.append("sizes of %s" % name)
    elements = {name: math.prod(shape) for name, shape in made.items()}
    complaints += ["elements of %s" % name for name, count in elements.items()
                   if count > problem["limits"]["tensor"]]
    if sum(elements.values()) > problem["limits"]["total"]:
        complaints.append("elements together")
    low, high = problem["window"]
    if not low <= flops(problem, slots) <= high:
        complaints.append("FLOPs")
    return complaints
