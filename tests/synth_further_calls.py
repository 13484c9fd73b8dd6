"""Random calls of the further operators, as synth_calls.py has them for CSP-DAG's."""

import torch
import torch.nn.functional as F

from synth_calls import along_of, binary_of, near, reductions_of, shape, unary_of

UNARY = {
    "Neg": torch.neg, "Exp": torch.exp, "Expm1": torch.expm1, "Erf": torch.erf, "Erfc": torch.erfc,
    "Atan": torch.atan, "Asinh": torch.asinh, "Sinh": torch.sinh, "Cosh": torch.cosh, "Sinc": torch.sinc,
    "Hardswish": F.hardswish, "Mish": F.mish, "ReLU6": F.relu6, "Tanhshrink": F.tanhshrink,
    "Log1p": lambda x: torch.log1p(x.abs()), "Sqrt": lambda x: x.abs().sqrt(),
    "Scale": lambda x, factor: x * factor, "Shift": lambda x, addend: x + addend,
    "Pow": lambda x, exponent: x ** exponent, "Log": lambda x, eps: torch.log(x.abs() + eps),
    "Rsqrt": lambda x, eps: torch.rsqrt(x * x + eps),
    "Reciprocal": lambda x, eps: 1 / (x.abs() + eps), "CELU": lambda x, alpha: F.celu(x, alpha),
    "Hardshrink": lambda x, lambd: F.hardshrink(x, lambd),
    "Softshrink": lambda x, lambd: F.softshrink(x, lambd),
    "Threshold": lambda x, threshold, value: F.threshold(x, threshold, value),
    "ClampMin": lambda x, min: x.clamp(min=min), "ClampMax": lambda x, max: x.clamp(max=max),
}
BINARY = {
    "AddScaled": lambda a, b, alpha: torch.add(a, b, alpha=alpha),
    "AddCMul": lambda a, b, value: torch.addcmul(a, b, b, value=value), "Atan2": torch.atan2,
    "Hypot": torch.hypot, "LogAddExp": torch.logaddexp, "Copysign": torch.copysign,
    "Where": lambda a, b, value: torch.where(a > b, a, value),
}
SCALARS = {
    "Scale": {"factor": (0.125, 0.5, 2.0)}, "Shift": {"addend": (-1.0, 0.5, 1.0)}, "Pow": {"exponent": (2, 3)},
    "Log": {"eps": (0.01, 0.1, 1.0)}, "Rsqrt": {"eps": (0.01, 0.1, 1.0)}, "Reciprocal": {"eps": (0.1, 0.5, 1.0)},
    "CELU": {"alpha": (0.5, 1.0, 2.0)}, "Hardshrink": {"lambd": (0.25, 0.5, 1.0)},
    "Softshrink": {"lambd": (0.25, 0.5, 1.0)},
    "Threshold": {"threshold": (-0.5, 0.0, 0.5), "value": (-1.0, 0.0)},
    "ClampMin": {"min": (-1.0, -0.5, 0.0)}, "ClampMax": {"max": (0.0, 0.5, 1.0)},
    "AddScaled": {"alpha": (-0.5, 0.5, 2.0)}, "AddCMul": {"value": (-1.0, 0.5, 1.0)},
    "Where": {"value": (-1.0, 0.0)},
}
REDUCTIONS = {"AMax": torch.amax, "AMin": torch.amin, "Std": torch.std, "LogSumExp": torch.logsumexp,
              "Median": lambda x, dim, keepdim: x.median(dim, keepdim).values}
ALONG = {
    "LogCumSumExp": torch.logcumsumexp, "Sort": lambda x, dim: x.sort(dim).values, "Flip": lambda x, dim: x.flip(dim),
    "Softmin": lambda x, dim: F.softmin(x, dim), "Normalize": lambda x, dim: x / x.norm(dim=dim, keepdim=True),
}
TOTALS = {"SumAll": torch.sum, "MeanAll": torch.mean, "MaxAll": torch.max, "MinAll": torch.min}
LOSSES = {"MSELoss": F.mse_loss, "SmoothL1Loss": F.smooth_l1_loss, "HuberLoss": F.huber_loss,
          "SoftMarginLoss": F.soft_margin_loss, "BCEWithLogitsLoss": F.binary_cross_entropy_with_logits}


# Of each: (shapes, parameters, run on tensors, whether docs/synthesis.md has it in the domain).
def roll(draw, name):
    a, shift = shape(draw), draw.choice((-2, 1, 3))
    dim = draw.randrange(len(a))
    return [a], {"dim": dim, "shift": shift}, lambda x: x.roll(shift, dim), True


def total(draw, name):
    return [shape(draw)], {}, lambda x: TOTALS[name](x), True


def loss(draw, name):
    a, reduction_of = shape(draw), draw.choice(("mean", "sum"))
    b = near(draw, a)
    if draw.random() < 0.1:
        b[draw.randrange(len(b))] = 1
    # Of other shapes PyTorch broadcasts, with a warning.
    return ([a, b], {"reduction": reduction_of}, lambda x, y: LOSSES[name](x, y, reduction=reduction_of), a == b)


def cross_entropy(draw, name):
    a, reduction_of = shape(draw, draw.choice((1, 2, 2, 2, 3))), draw.choice(("mean", "sum"))
    classes = torch.zeros(a[:1] + a[2:] if len(a) > 1 else [], dtype=torch.int64)
    return ([a], {"reduction": reduction_of}, lambda x: F.cross_entropy(x, classes, reduction=reduction_of),
            len(a) == 2 and a[1] > 1)


def rms_norm(draw, name):
    a, affine = shape(draw), draw.random() < 0.5
    normalized = draw.randint(1, len(a))
    weight = torch.empty(a[-normalized:]) if affine else None
    return ([a], {"affine": affine, "normalized": normalized},
            lambda x: F.rms_norm(x, a[-normalized:], weight), a[-1] > 1)


def prelu(draw, name):
    a = shape(draw)
    slopes = torch.empty(a[1] if len(a) > 1 else 1)
    return [a], {}, lambda x: F.prelu(x, slopes), len(a) > 1


def top_k(draw, name):
    a, k = shape(draw), draw.choice((2, 4, 8))
    dim = draw.randrange(len(a))
    return [a], {"dim": dim, "size": k}, lambda x: x.topk(k, dim=dim).values, True


def spatial_shape(draw, spatial):
    return shape(draw, spatial + (2 if draw.random() < 0.9 else 1))


def adaptive_pool(draw, name):
    spatial, size = int(name[-2]), draw.choice((2, 4, 7))
    a = spatial_shape(draw, spatial)
    function = getattr(F, "adaptive_%s_pool%dd" % (name[8:11].lower(), spatial))
    # What is smaller is enlarged in PyTorch.
    return [a], {"size": size}, lambda x: function(x, size), len(a) == spatial + 2 and min(a[2:]) >= size


def global_pool(draw, name):
    spatial = int(name[-2])
    a = spatial_shape(draw, spatial)
    return ([a], {}, lambda x: getattr(F, "adaptive_avg_pool%dd" % spatial)(x, 1), len(a) == spatial + 2)


def upsample(draw, name):
    spatial, scale = int(name[-2]), draw.choice((2, 3))
    a, mode = shape(draw, spatial + 2), name[len("Upsample"):-2].lower()
    return [a], {"scale": scale}, lambda x: F.interpolate(x, scale_factor=scale, mode=mode), True


def pad(draw, name):
    a = shape(draw)
    before, after = draw.choice([(b, e) for b in range(3) for e in range(3) if b + e])
    return [a], {"before": before, "after": after}, lambda x: F.pad(x, (before, after)), True


def pad_all(draw, name):
    spatial, padding = int(name[-2]), draw.randint(1, 3)
    a = shape(draw, spatial + 2)
    mode = {"R": {"f": "reflect", "p": "replicate"}, "C": {"r": "circular"}}[name[0]][name[2]]
    return [a], {"padding": padding}, lambda x: F.pad(x, [padding] * 2 * spatial, mode=mode), True


def repeat(draw, name):
    a, scale = shape(draw), draw.choice((2, 3))
    dim = draw.randrange(len(a))
    return [a], {"dim": dim, "scale": scale}, lambda x: x.repeat_interleave(scale, dim=dim), True


def shuffle(draw, name):
    a, scale = shape(draw, draw.choice((3, 4, 4, 4, 4))), draw.choice((2, 3))
    if len(a) == 4 and draw.random() < 0.6:
        if name == "PixelShuffle":
            a[1] *= scale * scale
        else:
            a[2:] = [scale * size for size in a[2:]]
    function = F.pixel_shuffle if name == "PixelShuffle" else F.pixel_unshuffle
    return [a], {"scale": scale}, lambda x: function(x, scale), len(a) == 4


def channel_shuffle(draw, name):
    a, groups = shape(draw), draw.choice((2, 4, 8))
    if len(a) > 1 and draw.random() < 0.6:
        a[1] *= groups
    return [a], {"groups": groups}, lambda x: F.channel_shuffle(x, groups), True


def permute(draw, name):
    a = shape(draw)
    order = draw.sample(range(len(a)), len(a))
    return ([a], {"order": ", ".join(map(str, order))}, lambda x: x.permute(order), order != sorted(order))


def unsqueeze(draw, name):
    a = shape(draw)
    dim = draw.randint(0, len(a))
    return [a], {"dim": dim}, lambda x: x.unsqueeze(dim), len(a) < 5


def glu(draw, name):
    a = shape(draw)
    dim = draw.randrange(len(a))
    return [a], {"dim": dim}, lambda x: F.glu(x, dim=dim), True


def linear(draw, name):
    a, affine = shape(draw), draw.random() < 0.5
    b = near(draw, [draw.randint(1, 6), a[-1]])
    bias = torch.empty(b[0]) if affine else None
    return [a, b], {"affine": affine}, lambda x, y: F.linear(x, y, bias), len(b) == 2


def mat_vec(draw, name):
    a = shape(draw, 2 if draw.random() < 0.9 else 3)
    return [a, near(draw, [a[-1]])], {}, torch.mv, True


def add_product(draw, name):
    function, rank = {"Addmm": (torch.addmm, 2), "Baddbmm": (torch.baddbmm, 3)}[name]
    a = shape(draw, rank)
    b = near(draw, a[:-2] + [a[-1], draw.randint(1, 6)])
    return [a, b], {}, lambda x, y: function(torch.empty(y.shape[-1]), x, y), True


def attention(draw, name):
    a = shape(draw, draw.choice((2, 3, 4, 5)))
    b, causal = near(draw, a[:-2] + [draw.randint(1, 6), a[-1]]), draw.random() < 0.5
    # PyTorch broadcasts leading dims too, and takes a value of another width.
    domain = len(a) in (3, 4) and len(a) == len(b) and a[:-2] == b[:-2]
    return ([a, b], {"causal": causal},
            lambda x, y: F.scaled_dot_product_attention(x, y, y, is_causal=causal), domain)


def index_select(draw, name):
    a, index = shape(draw), torch.zeros(draw.randint(1, 6), dtype=torch.int64)
    dim = draw.randrange(len(a))
    return [a], {"dim": dim, "index": list(index.shape)}, lambda x: x.index_select(dim, index), True


def gather(draw, name):
    a = shape(draw)
    dim, sizes = draw.randrange(len(a)), near(draw, a)
    if draw.random() < 0.5:
        sizes = a[:dim] + [draw.randint(1, 6)] + a[dim + 1:]
    index = torch.zeros(sizes, dtype=torch.int64)
    # PyTorch lets an index be shorter in other dims too.
    domain = len(sizes) == len(a) and sizes[:dim] + sizes[dim + 1:] == a[:dim] + a[dim + 1:]
    return [a], {"dim": dim, "index": sizes}, lambda x: x.gather(dim, index), domain


def embedding(draw, name):
    a, rank = shape(draw, draw.choice((2, 2, 2, 3))), draw.choice((1, 2))
    index = torch.zeros(shape(draw, rank), dtype=torch.int64)
    return [a], {"index": list(index.shape)}, lambda x: F.embedding(index, x), len(a) == 2


FURTHER = {
    **unary_of(UNARY, SCALARS), **binary_of(BINARY, SCALARS), **reductions_of(REDUCTIONS, {"Std"}),
    **along_of(ALONG, {"Softmin", "Normalize"}), "Roll": roll,
    **{name: total for name in TOTALS}, **{name: loss for name in LOSSES}, "CrossEntropy": cross_entropy,
    "RMSNorm": rms_norm, "PReLU": prelu, "TopK": top_k,
    **{"Adaptive%sPool%dd" % (kind, n): adaptive_pool for kind in ("Avg", "Max") for n in (1, 2, 3)},
    **{"GlobalAvgPool%dd" % n: global_pool for n in (1, 2, 3)},
    **{"Upsample" + kind: upsample for kind in (
        "Nearest1d", "Nearest2d", "Nearest3d", "Linear1d", "Bilinear2d", "Trilinear3d", "Bicubic2d")},
    "Pad": pad,
    **{"%sPad%dd" % (kind, n): pad_all for kind in ("Reflection", "Replication", "Circular") for n in (1, 2, 3)},
    "RepeatInterleave": repeat, "PixelShuffle": shuffle, "PixelUnshuffle": shuffle,
    "ChannelShuffle": channel_shuffle, "Permute": permute, "Unsqueeze": unsqueeze, "GLU": glu,
    "Linear": linear, "MatVec": mat_vec, "Addmm": add_product, "Baddbmm": add_product, "Attention": attention,
    "IndexSelect": index_select, "Gather": gather, "Embedding": embedding,
}

# What no shape is refused by, at the ranks that are tried.
ANY_SHAPE = {*UNARY, *TOTALS, "LogCumSumExp", "Sort", "Flip", "Roll", "Pad", "RepeatInterleave", "IndexSelect",
             *(name for name in FURTHER if name.startswith(("Upsample", "Replication")))}
