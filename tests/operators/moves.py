"""Moving elements: views, copies, joins, padding, indexing, resampling; factories and generators."""

import math

from draw import ANY, FLOATS, NUMBERS, OMIT, Name, call, csp, operator


@csp("Transpose", "dim0 dim1")
def transpose(d):
    shape = d.shape()
    x = d.tensor(shape, d.dtype(ANY))
    rank = len(shape)
    first, second = d.option("dim0", d.dim(rank)), d.option("dim1", d.dim(rank))
    result = call("torch.transpose", x, first, second)
    # A view computes nothing: a kernel writer is asked for a copy of it.
    if d.edges:
        return result if d.chance(0.5) else result + ".contiguous()"
    return result + ".clone(memory_format=torch.contiguous_format)"


@operator("Views", "operator", weight=4)
def views(d):
    shape = d.shape(2, 4)
    x, rank = d.tensor(shape, d.dtype(ANY)), len(shape)
    total = math.prod(shape)
    order = d.rng.sample(range(rank), rank)
    options = {
        "permute": "permute(%s)" % order, "t": "flatten(1).t()", "mT": "mT",
        "unsqueeze": "unsqueeze(%d)" % d.int(-rank - 1, rank), "squeeze": "squeeze()",
        "squeeze_dim": "squeeze(%d)" % d.dim(rank), "reshape": "reshape(-1)",
        "view": "contiguous().view(%d, -1)" % shape[0] if total else "contiguous()",
        "flatten": "flatten(1)", "unflatten": "unflatten(0, (1, %d))" % shape[0],
        "select": "select(%d, 0)" % d.dim(rank), "slice": "narrow(0, 0, %d)" % min(2, shape[0]),
        "steps": "transpose(0, 1)[:, ::2]", "expand": "unsqueeze(0).expand(3, %s)"
        % ", ".join(["-1"] * rank), "movedim": "movedim(0, -1)", "swapaxes": "swapaxes(0, 1)",
        "broadcast_to": "unsqueeze(0).broadcast_to(2, %s)" % ", ".join(map(str, shape)),
        "diagonal": "diagonal(0, 0, 1)", "expand_as": "unsqueeze(0).expand_as(%s.unsqueeze(0))" % x,
        "view_as": "contiguous().view_as(%s)" % x, "unfold": "unfold(0, 1, 1)",
        "as_strided": "contiguous().as_strided((%d,), (1,))" % min(total, 2), "ravel": "ravel()",
        "to_channels_last": "contiguous()", "index_none": "__getitem__((None, ..., 0))",
        "view_dtype": "contiguous().view(torch.uint8)", "real": "real",
        "adjoint": "flatten(1).adjoint()", "atleast": "sum(0)", "clone": "clone()",
        "squeeze_dims": "unsqueeze(0).unsqueeze(0).squeeze((0, 1))",
        "unsqueeze_": "clone().unsqueeze_(1)", "transpose_": "clone().transpose_(0, 1)",
        "squeeze_": "unsqueeze(0).clone().squeeze_(0)", "t_": "flatten(1).clone().t_()"}
    name = d.option("operator", *options)
    if name in ("select", "index_none") and 0 in shape or name == "real":
        name = "permute"
    text = "%s.%s" % (x, options[name])
    if name == "to_channels_last" and rank == 4:
        text = "%s.contiguous(memory_format=torch.channels_last)" % x
    if name == "view_dtype" and d.inputs[0].dtype == "bool":
        text = "%s.contiguous()" % x
    if d.chance(0.4):
        return text + " * 1" if name != "clone" else text
    return text


@operator("Split", "operator", weight=2)
def split(d):
    shape = d.shape(2, 4)
    dim = d.dim(len(shape))
    x = d.tensor(shape, d.dtype(ANY))
    name = d.option("operator", "split", "chunk", "unbind", "split_sizes", "tensor_split",
                    "hsplit")
    if name == "unbind":
        return call("torch.unbind", x, dim) if shape[dim] else call("torch.chunk", x, 2, dim)
    if name == "split_sizes":
        first = d.int(0, shape[dim])
        return call("torch.split", x, [first, shape[dim] - first], dim)
    if name == "hsplit":
        return call("torch.hsplit", x, 1)
    return call("torch." + name, x, d.int(1, 4), dim)


# ---- Copies

def triangle(name, function):
    @csp(name, "diagonal")
    def draw(d):
        shape = d.shape(2, 4)
        x = d.tensor(shape, d.dtype(ANY))
        return call("torch." + function, x, d.option("diagonal", OMIT, 0, 1, -1, 3, -4))


triangle("Triu", "triu")
triangle("Tril", "tril")


@csp("Cat", "dim tensors")
def cat(d):
    shape, dtype = d.shape(1, 4) or (2,), d.dtype(ANY)
    dim = d.option("dim", d.dim(len(shape)))
    parts = []
    for _ in range(d.option("tensors", 1, 2, 2, 3, 5)):
        part = list(shape)
        part[dim] = d.int(1 if not d.edges else 0, 9)
        other = d.dtype(NUMBERS) if d.edges and d.chance(0.1) else dtype
        parts.append(d.tensor(part, other))
    return call("torch.cat", parts, dim=dim)


@csp("Stack", "dim tensors")
def stack(d):
    shape, dtype = d.shape(), d.dtype(ANY)
    dim = d.option("dim", d.int(-len(shape) - 1, len(shape)))
    parts = [d.tensor(shape, dtype) for _ in range(d.option("tensors", 1, 2, 2, 3, 5))]
    return call("torch.stack", parts, dim=dim)


@operator("Flip", "dims")
def flip(d):
    shape = d.shape()
    return call("torch.flip", d.tensor(shape, d.dtype(ANY)), d.dims(len(shape)))


@operator("Roll", "shifts dims")
def roll(d):
    shape = d.shape()
    x = d.tensor(shape, d.dtype(ANY))
    if d.option("dims", "none", "some") == "none":
        return call("torch.roll", x, d.int(-5, 5))
    dims = d.dims(len(shape))
    return call("torch.roll", x, tuple(d.int(-5, 5) for _ in dims), dims)


@operator("Repeat", "operator", weight=2)
def repeat(d):
    shape = d.shape(1, 3)
    x = d.tensor(shape, d.dtype(ANY))
    times = [d.int(1, 3) for _ in range(len(shape) + d.int(0, 1))]
    name = d.option("operator", "repeat", "tile", "repeat_interleave", "interleave_dim")
    if name == "repeat_interleave":
        return call("torch.repeat_interleave", x, 2)
    if name == "interleave_dim":
        return call("torch.repeat_interleave", x, 3, dim=d.dim(len(shape)))
    return "%s.%s(%s)" % (x, name, tuple(times) or "()")


@operator("Pad", "mode value", weight=2)
def pad(d):
    mode = d.option("mode", "constant", "constant", "reflect", "replicate", "circular")
    if mode == "constant":
        shape = d.shape(1, 4) or (3,)
        low = 0 if d.kind == "empty" else -1
        widths = tuple(d.int(low, 3) for _ in range(2 * d.int(1, len(shape))))
        return call("F.pad", d.tensor([n + 2 for n in shape], d.dtype(ANY)), widths,
                    value=d.option("value", OMIT, OMIT, 1.0))
    rank = d.int(1, 3)
    shape = [d.int(1, 3), d.int(1, 4)] + [d.int(4, 9) for _ in range(rank)]
    if d.chance(0.3):
        shape = shape[1:]
    return call("F.pad", d.tensor(shape, d.dtype(FLOATS)),
                tuple(d.int(0, 3) for _ in range(2 * rank)), mode=mode)


@operator("PixelShuffle", "operator")
def pixel_shuffle(d):
    n, c, h, w = d.int(1, 3), d.int(1, 3), d.int(1, 5), d.int(1, 5)
    name = d.option("operator", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle")
    if name == "channel_shuffle":
        return call("F.channel_shuffle", d.tensor((n, 4 * c, h, w)), 2)
    shape = (n, 4 * c, h, w) if name == "pixel_shuffle" else (n, c, 2 * h, 2 * w)
    return call("F." + name, d.tensor(shape, d.dtype(FLOATS)), 2)


@operator("Unfold", "kernel_size")
def unfold(d):
    x = d.tensor((2, 3, d.int(4, 9), d.int(4, 9)), d.dtype(FLOATS))
    kernel, dilation, padding = d.option("kernel_size", 2, (2, 3)), 1, d.int(0, 1)
    text = call("F.unfold", x, kernel, dilation, padding, d.int(1, 2))
    if d.chance(0.7):
        return text
    return "F.fold(F.unfold(%s, 2, stride=2), (4, 4), 2, stride=2)" % d.tensor((2, 3, 4, 4))


@operator("Upsample", "mode align_corners scale", weight=3)
def upsample(d):
    mode = d.option("mode", "nearest", "nearest", "bilinear", "bilinear", "bicubic", "linear",
                    "trilinear", "nearest-exact", "area")
    rank = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}.get(mode) or d.int(1, 3)
    size = [d.int(2, 7) for _ in range(rank)]
    x = d.tensor((d.int(1, 3), d.int(1, 4), *size), d.dtype(FLOATS))
    kwargs = {}
    if "linear" in mode or mode == "bicubic":
        kwargs["align_corners"] = d.flag("align_corners")
    if d.option("scale", "factor", "size") == "size":
        kwargs["size"] = tuple(d.int(1, 11) for _ in range(rank))
    else:
        kwargs["scale_factor"] = d.rng.choice((2, 1.5, 0.5))
    if mode == "bicubic" and d.chance(0.3):
        kwargs["antialias"] = True
    return call("F.interpolate", x, mode=mode, **kwargs)


@operator("GridSample", "mode padding_mode align_corners")
def grid_sample(d):
    mode = d.option("mode", "bilinear", "nearest", "bicubic")
    rank = 2 if mode == "bicubic" else d.rng.choice((2, 3))
    x = d.tensor((2, 3, *(d.rng.choice((1, 4, 5, 6)) for _ in range(rank))))
    grid = d.tensor((2, *(d.rng.choice((1, 3, 4)) for _ in range(rank)), rank))
    if d.chance(0.3):  # beyond the input there is 0, not what is made of it
        x = Name("torch.exp(%s)" % x)
    return call("F.grid_sample", x, grid, mode=mode,
                padding_mode=d.option("padding_mode", "zeros", "border", "reflection"),
                align_corners=d.option("align_corners", False, True))


@operator("AffineGrid", "align_corners")
def affine_grid(d):
    if d.chance(0.4):
        return call("F.affine_grid", d.tensor((2, 3, 4)), [2, 1, 4, d.rng.choice((1, 3)), 5],
                    align_corners=d.option("align_corners", False, True))
    return call("F.affine_grid", d.tensor((2, 2, 3)), [2, 1, d.rng.choice((1, 4)), 5],
                align_corners=d.option("align_corners", False, True))


# ---- Lookups

@operator("Embedding", "padding_idx")
def embedding(d):
    rows, width = d.int(2, 30), d.size()
    indices = d.index(d.shape(1, 3), rows)
    return call("F.embedding", indices, d.tensor((rows, width), d.dtype(FLOATS)),
                padding_idx=d.option("padding_idx", OMIT, OMIT, 0))


@operator("EmbeddingBag", "mode")
def embedding_bag(d):
    rows, width = d.int(2, 30), d.size()
    indices = d.index((d.int(1, 5), d.int(1, 5)), rows, plain=True)
    return call("F.embedding_bag", indices, d.tensor((rows, width), plain=True),
                mode=d.option("mode", "sum", "mean", "max"))


def within(shape, d):
    return tuple(max(1, d.int(1, n)) if n else 0 for n in shape)


@operator("Gather", "dim")
def gather(d):
    shape = d.shape()
    dim = d.dim(len(shape))
    x = d.tensor(shape, d.dtype(ANY))
    size = shape[dim] if shape else 1
    name = d.rng.choice(("torch.gather", "torch.gather", "torch.take_along_dim"))
    return call(name, x, dim, d.index(within(shape, d), size)) if name != "torch.take_along_dim" \
        else call(name, x, d.index(shape, size), dim)


@operator("Scatter", "dim operator", weight=2)
def scatter(d):
    shape, dtype = d.shape(), d.dtype(("float32", "float16", "int64"))
    dim = d.dim(len(shape))
    x = d.tensor(shape, dtype, plain=True)
    inside = within(shape, d)
    size = shape[dim] if shape else 1
    name = d.option("operator", "scatter", "scatter_value", "scatter_add", "scatter_reduce")
    if name == "scatter":  # of equal indices any may win: one row keeps them apart
        inside = tuple(1 if n == dim % max(len(shape), 1) else m for n, m in enumerate(inside))
    index = d.index(inside, size)
    if name == "scatter_value":
        return call("torch.scatter", x, dim, index, 2)
    source = d.tensor(inside, dtype)
    if name == "scatter_reduce":
        return call("torch.scatter_reduce", x, dim, index, source,
                    d.rng.choice(("sum", "amax", "amin", "mean", "prod")),
                    include_self=d.chance(0.5))
    return call("torch." + name, x, dim, index, source)


@operator("IndexSelect", "dim")
def index_select(d):
    shape = d.shape()
    dim = d.dim(len(shape))
    size = shape[dim] if shape else 1
    count = 1 if not shape else d.int(0 if d.edges else 1, 7) if size else 0
    return call("torch.index_select", d.tensor(shape, d.dtype(ANY)), dim, d.index((count,), size))


@operator("IndexAdd", "dim operator")
def index_add(d):
    shape, dtype = d.shape(1, 3) or (3,), d.dtype(("float32", "int64"))
    dim = d.dim(len(shape))
    count = d.int(1, 5) if shape[dim] else 0
    inside = list(shape)
    inside[dim] = count
    x, index = d.tensor(shape, dtype), d.index((count,), shape[dim])
    name = d.option("operator", "index_add", "index_fill")
    if name == "index_fill":
        return call("torch.index_fill", x, dim, index, 2)
    return call("torch." + name, x, dim, index, d.tensor(inside, dtype))


@operator("Indexing", "form", weight=2)
def indexing(d):
    shape = tuple(max(1, n) for n in d.shape(2, 4))
    x = d.tensor(shape, d.dtype(ANY))
    first = d.index((d.int(1, 5),), shape[0])
    form = d.option("form", "[i]", "[:, i]", "[i, j]", "[i, :, None]", "[..., i]", "[-1]",
                    "[i[:, None], j]", "list")
    if form == "[:, i]":
        return "%s[:, %s]" % (x, d.index((3,), shape[1]))
    if form == "[..., i]":
        return "%s[..., %s]" % (x, d.index((2, 2), shape[-1]))
    if form in ("[i, j]", "[i[:, None], j]"):
        second = d.index((d.inputs[-1].shape[0] if form == "[i, j]" else 3,), shape[1])
        return "%s[%s%s, %s]" % (x, first, "" if form == "[i, j]" else "[:, None]", second)
    if form == "list":
        return "%s[[0, -1]]" % x
    return "%s%s" % (x, form.replace("i", first))


@operator("IndexPut", "accumulate")
def index_put(d):
    shape = tuple(max(1, n) for n in d.shape(1, 3)) or (3,)
    x = d.tensor(shape)
    index = d.index((1,), shape[0])
    return call("torch.index_put", x, (index,), d.tensor((1, *shape[1:])),
                accumulate=d.option("accumulate", False, True))


@operator("OneHot", "num_classes")
def one_hot(d):
    return call("F.one_hot", d.index(d.shape(1, 2), 5), d.option("num_classes", 5, 8))


@operator("Bucketize", "right")
def bucketize(d):
    return "torch.bucketize(%s, torch.sort(%s).values, right=%s)" % (
        d.tensor(d.shape(1, 3)), d.tensor((5,), values="distinct"), d.option("right", False, True))


@operator("Meshgrid", "indexing")
def meshgrid(d):
    return call("torch.meshgrid", d.tensor((d.size(),)), d.tensor((d.size(),)),
                indexing=d.option("indexing", "ij", "xy"))


@operator("Diag", "operator")
def diag(d):
    name = d.option("operator", "diag", "diag2", "diag_embed", "trace", "diagonal_scatter", "rot90")
    if name == "diag":
        return call("torch.diag", d.tensor((d.size(),)), d.int(-2, 2))
    if name == "diag_embed":
        return call("torch.diag_embed", d.tensor((3, d.size())))
    if name == "diagonal_scatter":
        return call("torch.diagonal_scatter", d.tensor((4, 4)), d.tensor((4,)))
    return call("torch." + name.replace("2", ""), d.tensor((d.int(2, 9), d.int(2, 9))))


# ---- Factories and random numbers

@operator("Factories", "operator", weight=3)
def factories(d):
    x = d.tensor(d.shape(1, 3), d.dtype(FLOATS))
    texts = ("torch.zeros_like(%s)", "torch.ones_like(%s)", "torch.full_like(%s, 2.5)",
             "%s.new_zeros(3, 4)", "%s.new_full((2,), 7)", "%s.new_ones(5)",
             "torch.arange(%s.shape[-1], device=%s.device)",
             "torch.linspace(0, 1, 7, device=%s.device)", "torch.eye(4, 6, device=%s.device)",
             "torch.eye(4, device=%s.device)",
             "torch.arange(2, 9, 2, device=%s.device, dtype=torch.float32)",
             "torch.full((2, 3), 1.5, device=%s.device)", "torch.tensor([1.0, 2.0]).to(%s.device)",
             "torch.ones(3, 1, device=%s.device)", "torch.zeros((2, 2), device=%s.device)",
             "torch.tril_indices(4, 4, device=%s.device)", "torch.hann_window(6, device=%s.device)",
             "torch.logspace(0, 1, 4, device=%s.device)",
             "torch.triu(torch.ones(5, 5, device=%s.device), 1).bool()",
             "torch.tensor(float('-inf'), device=%s.device)", "torch.scalar_tensor(2.0).to(%s.device)")
    chosen = d.option("operator", *texts)
    made = chosen.replace("%s", x)
    return made if "_like" in chosen else "%s, %s * 1" % (made, x)


@operator("Random", "operator", weight=2)
def random_numbers(d):
    x = d.tensor(d.shape(1, 3), "float32", "unit")
    return d.option("operator", "torch.rand_like(%s)", "torch.randn_like(%s)",
                    "torch.bernoulli(%s.nan_to_num(0.5, 0.5, 0.5).clamp(0, 1))",
                    "torch.randint_like(%s, 10)", "torch.rand(4, 5, device=%s.device)",
                    "torch.randn(4, 5, device=%s.device)",
                    "torch.randint(0, 9, (7,), device=%s.device)",
                    "torch.randperm(9, device=%s.device)",
                    "torch.normal(0.0, 1.0, (3, 4), device=%s.device)",
                    "torch.empty_like(%s).exponential_()") % x
