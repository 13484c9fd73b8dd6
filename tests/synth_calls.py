"""Random calls of CSP-DAG's operators: small shapes of which many do not fit, as docs/synthesis.md has them."""

import torch
import torch.nn.functional as F

GROUPS = (1, 2, 4, 8)
UNARY = {
    "ReLU": F.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "SiLU": F.silu, "SELU": F.selu,
    "Hardsigmoid": F.hardsigmoid, "Softsign": F.softsign, "LogSigmoid": F.logsigmoid, "Abs": torch.abs,
    "Cos": torch.cos, "Sin": torch.sin, "Exp2": torch.exp2,
    "LeakyReLU": lambda x, negative_slope: F.leaky_relu(x, negative_slope),
    "GELU": lambda x, approximate: F.gelu(x, approximate=approximate),
    "ELU": lambda x, alpha: F.elu(x, alpha),
    "Hardtanh": lambda x, min_val, max_val: F.hardtanh(x, min_val, max_val),
    "Softplus": lambda x, beta: F.softplus(x, beta), "Clamp": lambda x, min, max: x.clamp(min, max),
}
SCALARS = {
    "LeakyReLU": {"negative_slope": (0.01, 0.1, 0.2)}, "GELU": {"approximate": ("none", "tanh")},
    "ELU": {"alpha": (0.5, 1.0, 2.0)}, "Softplus": {"beta": (0.5, 1.0, 2.0)},
    "Hardtanh": {"min_val": (-2.0, -1.0, -0.5), "max_val": (0.5, 1.0, 2.0)},
    "Clamp": {"min": (-1.0, -0.5, 0.0), "max": (0.5, 1.0, 2.0)},
    "Lerp": {"weight": (0.1, 0.25, 0.5, 0.75, 0.9)},
}
BINARY = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div,
          "Maximum": torch.maximum, "Minimum": torch.minimum,
          "Lerp": lambda a, b, weight: torch.lerp(a, b, weight)}
REDUCTIONS = {
    "Sum": torch.sum, "Mean": torch.mean, "Var": torch.var, "Norm": torch.linalg.vector_norm,
    "Max": lambda x, dim, keepdim: x.max(dim, keepdim).values,
    "Min": lambda x, dim, keepdim: x.min(dim, keepdim).values,
    "ArgMax": torch.argmax, "ArgMin": torch.argmin,
}
ALONG = {
    "CumSum": torch.cumsum, "CumMax": lambda x, dim: x.cummax(dim).values,
    "CumMin": lambda x, dim: x.cummin(dim).values, "Softmax": torch.softmax,
    "LogSoftmax": torch.log_softmax,
}


def shape(draw, rank=None, largest=12):
    return [draw.choice((1, 2, 3, 4, 5, 8, draw.randint(1, largest)))
            for _ in range(rank or draw.randint(1, 5))]


def near(draw, sizes):
    """Often these, sometimes with a dim or a size that is another."""
    sizes = list(sizes)
    if draw.random() < 0.3:
        sizes[draw.randrange(len(sizes))] = draw.randint(1, 6)
    if draw.random() < 0.1:
        sizes = sizes[1:] if len(sizes) > 1 and draw.random() < 0.5 else [draw.randint(1, 4)] + sizes
    return sizes


def scalars(draw, choices):
    return {key: draw.choice(values) for key, values in choices.items()}


# Of each: (shapes, parameters, run on tensors, whether docs/synthesis.md has it in the domain).
def unary_of(functions, choices):
    def unary(draw, name):
        parameters = scalars(draw, choices.get(name, {}))
        return [shape(draw)], parameters, lambda x: functions[name](x, **parameters), True
    return {name: unary for name in functions}


def binary_of(functions, choices):
    def call(draw, name):
        parameters, a = scalars(draw, choices.get(name, {})), shape(draw)
        b = [size if draw.random() < 0.7 else draw.choice((1, size, draw.randint(1, 6))) for size in a]
        b = b[draw.randint(0, len(b) - 1):]
        shapes = [a, b] if draw.random() < 0.5 else [b, a]
        return shapes, parameters, lambda x, y: functions[name](x, y, **parameters), True
    return {name: call for name in functions}


def reductions_of(functions, of_two):
    """`of_two`: those that need two elements; so of `along_of`."""
    def reduction(draw, name):
        a = shape(draw)
        parameters = {"dim": draw.randrange(len(a)), "keepdim": draw.random() < 0.5}
        enough = name not in of_two or a[parameters["dim"]] > 1
        domain = (len(a) > 1 or parameters["keepdim"]) and enough
        return [a], parameters, lambda x: functions[name](x, **parameters), domain
    return {name: reduction for name in functions}


def along_of(functions, of_two):
    def along(draw, name):
        a = shape(draw)
        dim = draw.randrange(len(a))
        return [a], {"dim": dim}, lambda x: functions[name](x, dim=dim), name not in of_two or a[dim] > 1
    return {name: along for name in functions}


def matmul(draw, name):
    a = shape(draw, 3 if name == "Bmm" else draw.randint(2, 5))
    b = near(draw, a[:-2] + [a[-1], draw.randint(1, 6)])
    if name == "Matmul" and draw.random() < 0.4:
        b = b[-2:]
    # Leading sizes are equal, where PyTorch would broadcast them.
    domain = len(b) in (2, len(a)) and (len(b) == 2 or a[:-2] == b[:-2])
    return [a, b], {}, torch.bmm if name == "Bmm" else torch.matmul, domain


def transpose(draw, name):
    a = shape(draw, draw.randint(2, 5))
    dim, dim1 = sorted(draw.sample(range(len(a)), 2))
    return [a], {"dim": dim, "dim1": dim1}, lambda x: x.transpose(dim, dim1), True


def norm(draw, name):
    a, affine = shape(draw), draw.random() < 0.5
    channels = a[1] if len(a) > 1 else a[0]
    weight = [torch.empty(channels)] * 2 if affine else [None, None]
    if name == "BatchNorm":
        training = draw.random() < 0.5
        running = [None, None] if training else [torch.empty(channels)] * 2
        return ([a], {"affine": affine, "training": training},
                lambda x: F.batch_norm(x, *running, *weight, training=training),
                len(a) >= 2 and (not training or a[0] > 1))
    if name == "GroupNorm":
        groups = draw.choice(GROUPS)
        return ([a], {"affine": affine, "groups": groups}, lambda x: F.group_norm(x, groups, *weight),
                len(a) >= 2 and (a[-1] > 1 if len(a) > 2 else a[1] >= 2 * groups))
    if name == "InstanceNorm":
        return ([a], {"affine": affine},
                lambda x: F.instance_norm(x, weight=weight[0], bias=weight[1]), len(a) >= 3 and a[-1] > 1)
    normalized = draw.randint(1, len(a))
    own = [torch.empty(a[-normalized:])] * 2 if affine else [None, None]
    return ([a], {"affine": affine, "normalized": normalized},
            lambda x: F.layer_norm(x, a[-normalized:], *own), a[-1] > 1)


def window(draw, least, dilated):
    kernel = draw.randint(least, 5)
    return {"kernel": kernel, "stride": draw.randint(1, 3), "padding": draw.randint(0, kernel // 2),
            "dilation": draw.randint(1, 2) if dilated and kernel > 1 else 1}


def pool(draw, name):
    spatial, largest = int(name[-2]), name.startswith("Max")
    w = window(draw, 2, largest)
    a = shape(draw, spatial + (2 if draw.random() < 0.9 else 1))
    function = getattr(F, ("max_pool%dd" if largest else "avg_pool%dd") % spatial)
    if not largest:
        w.pop("dilation")
    keywords = {key: value for key, value in w.items() if key != "kernel"}
    return [a], w, lambda x: function(x, w["kernel"], **keywords), len(a) == spatial + 2


def convolution(draw, name):
    spatial, transposed = int(name[-2]), "Transpose" in name
    w = window(draw, 1, True)
    groups, affine = draw.choice(GROUPS), draw.random() < 0.5
    a = shape(draw, spatial + 2)
    if draw.random() < 0.8:
        a[1] = groups * draw.randint(1, 3)
    share = max(1, a[1] // groups)
    out = groups * draw.randint(1, 3)
    kernels = [w["kernel"]] * spatial
    b = near(draw, [a[1], out // groups] + kernels if transposed else [out, share] + kernels)
    domain = len(b) == len(a) and b[2:] == kernels
    channels = b[1] * groups if transposed else b[0]
    bias = torch.empty(channels) if affine else None
    parameters = {**w, "groups": groups, "affine": affine}
    keywords = {key: value for key, value in parameters.items() if key not in ("kernel", "affine")}
    if transposed:
        parameters["output_padding"] = keywords["output_padding"] = draw.randrange(w["stride"])
    function = getattr(F, ("conv_transpose%dd" if transposed else "conv%dd") % spatial)
    return [a, b], parameters, lambda x, y: function(x, y, bias, **keywords), domain


def triangle(draw, name):
    a, diagonal = shape(draw), draw.randint(-3, 3)
    return [a], {"diagonal": diagonal}, lambda x: getattr(x, name.lower())(diagonal), len(a) > 1


def join(draw, name):
    a = shape(draw, draw.randint(1, 4 if name == "Stack" else 5))
    b, dim = near(draw, a), draw.randrange(len(a) + (name == "Stack"))
    if name == "Cat" and dim < len(b) and draw.random() < 0.7:
        b[dim] = draw.randint(1, 6)
    function = torch.stack if name == "Stack" else torch.cat
    return [a, b], {"dim": dim}, lambda x, y: function([x, y], dim=dim), len(a) == len(b)


CSP_DAG = {
    **unary_of(UNARY, SCALARS), **binary_of(BINARY, SCALARS), **reductions_of(REDUCTIONS, {"Var"}),
    **along_of(ALONG, {"Softmax", "LogSoftmax"}),
    "Matmul": matmul, "Bmm": matmul, "Transpose": transpose, "Triu": triangle, "Tril": triangle,
    "Cat": join, "Stack": join,
    **{name: norm for name in ("BatchNorm", "LayerNorm", "GroupNorm", "InstanceNorm")},
    **{kind + "Pool%dd" % n: pool for kind in ("Avg", "Max") for n in (1, 2, 3)},
    **{kind + "%dd" % n: convolution for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)},
}

# What no shape is refused by, down to one element, at the ranks that are tried.
ANY_SHAPE = {*UNARY, "Transpose", "CumSum", "CumMax", "CumMin"}
