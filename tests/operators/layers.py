"""Layers: matrix products, convolutions, pooling, normalisation, attention, recurrence, dropout."""

import math

from draw import FLOATS, OMIT, Name, call, csp, operator


# ---- Matrix products

@csp("Matmul", "ranks")
def matmul(d):
    dtype = d.dtype(FLOATS)
    m, k, n = d.size(), d.size(), d.size()
    if d.kind == "empty":
        m, k, n = d.rng.choice(((0, k, n), (m, 0, n), (m, k, 0)))
    ranks = d.option("ranks", "1x1", "1x2", "2x1", "2x2", "2x2", "3x2", "3x3", "4x4", "4x2", "2x3",
                     "1x3", "3x1", "4x3")
    left, right = int(ranks[0]), int(ranks[2])
    batch = [d.int(1, 4), d.int(1, 4)]
    a = {1: (k,), 2: (m, k), 3: (batch[1], m, k), 4: (*batch, m, k)}[left]
    b = {1: (k,), 2: (k, n), 3: (batch[1], k, n), 4: (*batch, k, n)}[right]
    if right > 2 and left > 2 and d.chance(0.25):
        b = (1, *b[1:])
        d.parameters["broadcast"] = "batch"
    return call("torch.matmul", d.tensor(a, dtype), d.tensor(b, dtype))


@csp("Bmm")
def bmm(d):
    dtype, b, m, k, n = d.dtype(FLOATS), d.int(1, 5), d.size(), d.size(), d.size()
    if d.kind == "empty":
        b, m, k, n = d.rng.choice(((0, m, k, n), (b, 0, k, n), (b, m, 0, n), (b, m, k, 0)))
    return call("torch.bmm", d.tensor((b, m, k), dtype), d.tensor((b, k, n), dtype))


@operator("Addmm", "beta alpha")
def addmm(d):
    dtype, b, m, k, n = d.dtype(FLOATS), d.int(1, 5), d.size(), d.size(), d.size()
    beta, alpha = d.option("beta", OMIT, 0.5, 0), d.option("alpha", OMIT, 2)
    if d.chance(0.5):
        return call("torch.addmm", d.tensor(d.broadcast((m, n)), dtype), d.tensor((m, k), dtype),
                    d.tensor((k, n), dtype), beta=beta, alpha=alpha)
    return call("torch.baddbmm", d.tensor(d.broadcast((b, m, n)), dtype),
                d.tensor((b, m, k), dtype), d.tensor((b, k, n), dtype), beta=beta, alpha=alpha)


@operator("Mv and dot", "operator")
def mv(d):
    dtype, m, k = d.dtype(FLOATS), d.size(), d.size()
    name = d.option("operator", "mv", "dot", "outer", "mm", "inner", "chain_matmul", "addmv")
    if name == "mm":
        return call("torch.mm", d.tensor((m, k), dtype), d.tensor((k, d.size()), dtype))
    if name == "mv":
        return call("torch.mv", d.tensor((m, k), dtype), d.tensor((k,), dtype))
    if name == "addmv":
        return call("torch.addmv", d.tensor((m,), dtype), d.tensor((m, k), dtype),
                    d.tensor((k,), dtype))
    if name == "inner":
        return call("torch.inner", d.tensor((m, k), dtype), d.tensor((4, k), dtype))
    if name == "chain_matmul":
        return call("torch.linalg.multi_dot", [d.tensor((m, k), dtype), d.tensor((k, 5), dtype),
                                               d.tensor((5, 3), dtype)])
    other = k if name == "dot" else m
    return call("torch." + name, d.tensor((k,), dtype), d.tensor((other,), dtype))


@operator("Linear", "bias")
def linear(d):
    dtype = d.dtype(FLOATS)
    x = d.shape(1, 4)
    out = d.size()
    inside = x[-1] if x else 1
    x = d.tensor(x or (1,), dtype)
    weight = d.tensor((out, inside), dtype)
    bias = d.tensor((out,), dtype) if d.option("bias", True, False) else OMIT
    return call("F.linear", x, weight, bias)


@operator("Bilinear", "bias")
def bilinear(d):
    n, a, b, out = d.size(), d.size(), d.int(1, 7), d.int(1, 9)
    bias = d.tensor((out,)) if d.option("bias", True, False) else OMIT
    return call("F.bilinear", d.tensor((n, a)), d.tensor((n, b)), d.tensor((out, a, b)), bias)


@operator("Einsum", "equation", weight=2)
def einsum(d):
    sizes = {letter: d.size() for letter in "abijk"}
    equation = d.option("equation", "ij,jk->ik", "bij,bjk->bik", "bij,bkj->bik", "ij->ji", "ij->i",
                        "i,j->ij", "bij,bj->bi", "ii->i", "ii", "abij,abkj->abik", "ij,ij->",
                        "...ij,...jk->...ik", "bij,jk->bik", "ij,ij->ij")
    operands = equation.split("->")[0].replace("...", "a").split(",")
    dtype = d.dtype(FLOATS)
    return call("torch.einsum", equation,
                *[d.tensor([sizes[letter] for letter in word], dtype) for word in operands])


# ---- Convolution

def spatial(d, rank, kernel, dilation=1, most=14):
    low = [dil * (k - 1) + 1 for k, dil in zip(kernel, tuples(dilation, rank))]
    return tuple(d.int(n, max(n, most if rank < 3 else 8)) for n in low)


def tuples(value, rank):
    if isinstance(value, (tuple, list)):
        return tuple(value)
    return (1 if isinstance(value, str) or value is OMIT else value,) * rank


def per_dim(d, rank, *domain):
    """One number, or one for each dimension."""
    if d.chance(0.3):
        return tuple(d.rng.choice(domain) for _ in range(rank))
    return d.rng.choice(domain)


def sizes(d, rank, dtype_domain=FLOATS):
    groups = d.option("groups", OMIT, OMIT, 2, "depthwise")
    inside, outside = d.rng.choice((1, 2, 3, 4, 6, 8)), d.rng.choice((1, 2, 4, 5, 8))
    if groups == 2:
        inside, outside = 2 * inside, 2 * outside
    elif groups == "depthwise":
        outside = inside * d.rng.choice((1, 1, 2))
        groups = inside
    batch = d.int(1, 3)
    if d.kind == "empty":
        batch = 0
    return groups, inside, outside, batch, d.dtype(dtype_domain)


def convolution(rank):
    @csp("Conv%dd" % rank, "stride padding padding_mode dilation groups bias batch")
    def draw(d):
        groups, inside, outside, batch, dtype = sizes(d, rank)
        kernel = tuple(d.rng.choice((1, 2, 3, 3, 5) if rank < 3 else (1, 2, 3))
                       for _ in range(rank))
        stride = d.option("stride", OMIT, per_dim(d, rank, 1, 2, 3))
        dilation = d.option("dilation", OMIT, OMIT, per_dim(d, rank, 1, 2))
        one = stride is OMIT or set(tuples(stride, rank)) == {1}
        padding = d.option("padding", OMIT, per_dim(d, rank, 0, 1, 2), "valid",
                           *(["same"] if one else []))
        mode = d.option("padding_mode", *["zeros"] * 4, "reflect", "replicate", "circular")
        size = spatial(d, rank, kernel, dilation)
        channels = (batch, inside) if d.option("batch", True, True, True, False) else (inside,)
        x = d.tensor((*channels, *size), dtype)
        weight = d.tensor((outside, inside // (1 if groups is OMIT else groups), *kernel), dtype)
        bias = d.tensor((outside,), dtype) if d.option("bias", True, False) else OMIT
        if mode != "zeros":  # as nn.Conv2d(padding_mode=...) does it
            width = max(1, min(2, min(size) - 1))
            if min(size) > width:
                x = call("F.pad", x, (width, d.int(0, width)) * rank, mode=mode)
                padding = OMIT
        return call("F.conv%dd" % rank, x, weight, *([] if bias is OMIT else [bias]),
                    stride=stride, padding=padding, dilation=dilation, groups=groups)
    return draw


def transposed(rank):
    @csp("ConvTranspose%dd" % rank,
         "stride padding output_padding dilation groups bias batch")
    def draw(d):
        groups, inside, outside, batch, dtype = sizes(d, rank)
        count = 1 if groups is OMIT else groups
        outside = max(outside // count, 1)
        kernel = tuple(d.rng.choice((1, 2, 3, 4, 5) if rank < 3 else (2, 3)) for _ in range(rank))
        stride = d.option("stride", OMIT, per_dim(d, rank, 1, 2, 3))
        dilation = d.option("dilation", OMIT, OMIT, per_dim(d, rank, 1, 2))
        padding = d.option("padding", OMIT, per_dim(d, rank, 0, 1))
        steps = [max(s, t) for s, t in zip(tuples(stride, rank), tuples(dilation, rank))]
        extra = d.option("output_padding", OMIT, OMIT,
                         tuple(d.int(0, n - 1) for n in steps))
        size = tuple(d.int(2, 9 if rank < 3 else 5) for _ in range(rank))
        channels = (batch, inside) if d.option("batch", True, True, True, False) else (inside,)
        x = d.tensor((*channels, *size), dtype)
        weight = d.tensor((inside, outside, *kernel), dtype)
        bias = d.tensor((outside * count,), dtype) if d.option("bias", True, False) else OMIT
        return call("F.conv_transpose%dd" % rank, x, weight, *([] if bias is OMIT else [bias]),
                    stride=stride, padding=padding, output_padding=extra, groups=groups,
                    dilation=dilation)
    return draw


# ---- Pooling

def image(d, rank, size):
    channels = (0 if d.kind == "empty" else d.int(1, 3), d.size() if rank < 3 else d.int(1, 6))
    if not d.option("batch", True, True, False):
        channels = channels[1:]
    return d.tensor((*channels, *size), d.dtype(FLOATS))


def window(d, rank, dilation=OMIT):
    kernel = per_dim(d, rank, 2, 3, 4 if rank < 3 else 2)
    stride = d.option("stride", OMIT, per_dim(d, rank, 1, 2, 3))
    half = min(tuples(kernel, rank)) // 2
    padding = d.option("padding", OMIT, per_dim(d, rank, 0, half))
    d.note("kernel_size", kernel)
    return kernel, stride, padding, spatial(d, rank, tuples(kernel, rank), dilation)


def average_pool(rank):
    known = "kernel_size stride padding ceil_mode count_include_pad"

    @csp("AvgPool%dd" % rank, known + (" divisor_override" if rank > 1 else "") + " batch")
    def draw(d):
        kernel, stride, padding, size = window(d, rank)
        kwargs = {"stride": stride, "padding": padding, "ceil_mode": d.flag("ceil_mode"),
                  "count_include_pad": d.flag("count_include_pad")}
        if rank > 1:
            kwargs["divisor_override"] = d.option("divisor_override", OMIT, OMIT, 3)
        return call("F.avg_pool%dd" % rank, image(d, rank, size), kernel, **kwargs)
    return draw


def max_pool(rank):
    @csp("MaxPool%dd" % rank,
         "kernel_size stride padding dilation ceil_mode return_indices batch")
    def draw(d):
        dilation = d.option("dilation", OMIT, OMIT, per_dim(d, rank, 1, 2))
        kernel, stride, padding, size = window(d, rank, dilation)
        return call("F.max_pool%dd" % rank, image(d, rank, size), kernel, stride=stride,
                    padding=padding, dilation=dilation, ceil_mode=d.flag("ceil_mode"),
                    return_indices=d.option("return_indices", OMIT, OMIT, True))
    return draw


def adaptive(rank, kind):
    @operator("Adaptive%sPool%dd" % (kind.title(), rank), "output_size batch")
    def draw(d):
        size = tuple(d.int(3, 12 if rank < 3 else 7) for _ in range(rank))
        domain = [1, 2, 3]
        output = d.option("output_size", per_dim(d, rank, *domain), 1)
        if rank > 1 and d.chance(0.15):
            output = (None,) + tuples(output, rank)[1:]
        return call("F.adaptive_%s_pool%dd" % (kind, rank), image(d, rank, size), output)
    return draw


for _rank in (1, 2, 3):
    convolution(_rank), transposed(_rank), average_pool(_rank), max_pool(_rank)
    adaptive(_rank, "avg"), adaptive(_rank, "max")


@operator("LPPool2d", "norm_type")
def lp_pool(d):
    kernel, stride, _, size = window(d, 2)
    return call("F.lp_pool2d", image(d, 2, size), d.option("norm_type", 1, 2), kernel, stride)


@operator("MaxUnpool2d")
def unpool(d):
    x = d.tensor((2, 3, 8, 8), "float32", "distinct")
    return "F.max_unpool2d(*F.max_pool2d(%s, 2, return_indices=True), 2)" % x


# ---- Normalisation

def affine(d, channels, dtype):
    """(weight, bias), each or neither."""
    if not d.option("affine", True, True, False):
        return None, None
    return d.tensor((channels,), dtype), d.tensor((channels,), dtype)


@csp("BatchNorm", "training affine momentum eps rank")
def batch_norm(d):
    shape = d.shape(2, 5)
    if math.prod(shape) and shape[0] * math.prod(shape[2:]) == 1:
        shape = (2, *shape[1:])
    dtype = d.dtype(FLOATS)
    x = d.tensor(shape, dtype)
    training = d.option("training", False, False, True)
    other = dtype if d.edges and d.chance(0.3) else "float32"  # running statistics under autocast
    mean, var = (None, None) if training and d.chance(0.4) else (
        d.tensor((shape[1],), other, plain=True), d.tensor((shape[1],), other, "positive", True))
    weight, bias = affine(d, shape[1], other)
    return call("F.batch_norm", x, mean, var, weight, bias, training,
                d.option("momentum", 0.1, 0.3), d.option("eps", 1e-5, 1e-2))


@csp("LayerNorm", "normalized_shape affine eps")
def layer_norm(d):
    shape, dtype = d.shape(1, 4) or (3,), d.dtype(FLOATS)
    count = d.int(1, len(shape))
    inner = shape[-count:]
    d.note("normalized_shape", count)
    x = d.tensor(shape, dtype)
    weight = bias = OMIT
    given = d.option("affine", "both", "both", "none", "weight")
    if given != "none":
        weight = d.tensor(inner, dtype)
    if given == "both":
        bias = d.tensor(inner, dtype)
    return call("F.layer_norm", x, inner, weight=weight, bias=bias,
                eps=d.option("eps", OMIT, 1e-2))


@operator("RMSNorm", "normalized_shape weight eps")
def rms_norm(d):
    shape, dtype = d.shape(1, 4) or (3,), d.dtype(FLOATS)
    inner = shape[-d.int(1, min(2, len(shape))):]
    x = d.tensor(shape, dtype)
    weight = d.tensor(inner, dtype) if d.option("weight", True, False) else OMIT
    return call("F.rms_norm", x, inner, weight=weight, eps=d.option("eps", OMIT, 1e-2))


@csp("GroupNorm", "num_groups affine eps rank")
def group_norm(d):
    shape, dtype = list(d.shape(2, 5)), d.dtype(FLOATS)
    groups = d.option("num_groups", 1, 2, 3)
    shape[1] = groups * max(1, min(shape[1], 6)) if shape[1] else 0
    x = d.tensor(shape, dtype)
    weight, bias = affine(d, shape[1], dtype)
    return call("F.group_norm", x, groups, weight=weight, bias=bias,
                eps=d.option("eps", OMIT, 1e-2))


@csp("InstanceNorm", "use_input_stats affine momentum eps running_statistics rank")
def instance_norm(d):
    shape, dtype = d.shape(3, 5), d.dtype(FLOATS)
    if math.prod(shape[2:]) == 1:
        shape = (*shape[:2], 3, *shape[3:])
    x = d.tensor(shape, dtype)
    use = d.option("use_input_stats", True, True, True, False)
    running = d.option("running_statistics", False, False, True) or not use
    mean = d.tensor((shape[1],), dtype, plain=True) if running else None
    var = d.tensor((shape[1],), dtype, "positive", True) if running else None
    weight, bias = affine(d, shape[1], dtype)
    return call("F.instance_norm", x, mean, var, weight, bias, use,
                d.option("momentum", 0.1, 0.3), d.option("eps", 1e-5, 1e-2))


@operator("LocalResponseNorm", "size")
def local_response_norm(d):
    return call("F.local_response_norm", d.tensor((2, d.int(3, 8), 5, 6)), d.option("size", 2, 3))


# ---- Attention, recurrence, dropout

@operator("Attention", "mask is_causal scale enable_gqa dtype", weight=3)
def attention(d):
    dtype, width = d.dtype(FLOATS), d.rng.choice((8, 16, 32, 5, 64))
    batch, heads, queries, keys = d.int(1, 3), d.int(1, 4), d.int(1, 20), d.int(1, 20)
    mask = d.option("mask", "none", "none", "float", "bool", "causal")
    lead = d.rng.choice(((batch, heads), (batch, heads), (batch,)))
    if mask == "causal":
        keys = queries
    gqa = d.option("enable_gqa", OMIT, OMIT, OMIT, True)
    if gqa is True:
        lead = (batch, 2 * heads)
    shape = (*lead, queries, width)
    inside = (*lead[:-1], lead[-1] // 2, keys, width) if gqa is True else (*lead, keys, width)
    if len(lead) == 2 and gqa is OMIT and d.chance(0.5):  # as heads come from a projection
        def heads_of(n):
            return Name("%s.transpose(1, 2)" % d.tensor((batch, n, heads, width), dtype, plain=True))
        q, k, v = heads_of(queries), heads_of(keys), heads_of(keys)
    else:
        q, k, v = (d.tensor(s, dtype, plain=True) for s in (shape, inside, inside))
    kwargs = {"is_causal": True} if mask == "causal" else {}
    if mask in ("float", "bool"):
        kwargs["attn_mask"] = d.tensor((queries, keys) if d.chance(0.5) else
                                       (*lead, queries, keys), dtype if mask == "float" else "bool",
                                       plain=True)
    return call("F.scaled_dot_product_attention", q, k, v, **kwargs,
                scale=d.option("scale", OMIT, OMIT, 0.3), enable_gqa=gqa)


@operator("MultiheadAttention", "need_weights", weight=1)
def multihead(d):
    heads, width = d.rng.choice((1, 2, 4)), 16
    length, batch = d.int(2, 9), d.int(1, 3)
    x = d.tensor((length, batch, width), plain=True)
    weights = [d.tensor(s, plain=True) for s in ((3 * width, width), (3 * width,), (width, width),
                                                 (width,))]
    return ("F.multi_head_attention_forward(%s, %s, %s, %d, %d, %s, %s, None, None, False, 0.0, %s,"
            " %s, training=False, need_weights=%s)"
            % (x, x, x, width, heads, *weights, d.option("need_weights", False, True)))


def recurrent(name, function, gates):
    @operator(name, "num_layers bias batch_first bidirectional", weight=2)
    def draw(d):
        layers, bias = d.option("num_layers", 1, 2), d.option("bias", True, False)
        two, first = d.option("bidirectional", False, True), d.option("batch_first", False, True)
        length, batch, inside, hidden = d.int(1, 6), d.int(1, 4), d.size(), d.rng.choice((4, 8, 12))
        dtype = d.dtype(("float32", "float16"))
        ways = 2 if two else 1
        x = d.tensor((batch, length, inside) if first else (length, batch, inside), dtype,
                     plain=True)
        state = [d.tensor((layers * ways, batch, hidden), dtype, plain=True)
                 for _ in range(2 if gates == 4 else 1)]
        weights = []
        for layer in range(layers):
            width = inside if layer == 0 else hidden * ways
            for _ in range(ways):
                weights.append(d.tensor((gates * hidden, width), dtype, plain=True))
                weights.append(d.tensor((gates * hidden, hidden), dtype, plain=True))
                if bias:
                    weights += [d.tensor((gates * hidden,), dtype, plain=True) for _ in range(2)]
        return call("torch." + function, x, tuple(state) if gates == 4 else state[0], weights, bias,
                    layers, 0.0, False, two, first)


recurrent("LSTM", "lstm", 4)
recurrent("GRU", "gru", 3)
recurrent("RNN", "rnn_tanh", 1)
recurrent("RNN with ReLU", "rnn_relu", 1)


@operator("LSTM cell", "")
def lstm_cell(d):
    n, inside, hidden = d.size(), d.size(), 8
    x, h, c = (d.tensor((n, w), plain=True) for w in (inside, hidden, hidden))
    shapes = ((4 * hidden, inside), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,))
    return "torch.lstm_cell(%s, (%s, %s), %s, %s, %s, %s)" % (
        x, h, c, *[d.tensor(s, plain=True) for s in shapes])


@operator("GRU cell", "")
def gru_cell(d):
    n, inside, hidden = d.size(), d.size(), 8
    x, h = (d.tensor((n, w), plain=True) for w in (inside, hidden))
    shapes = ((3 * hidden, inside), (3 * hidden, hidden), (3 * hidden,), (3 * hidden,))
    return call("torch.gru_cell", x, h, *[d.tensor(s, plain=True) for s in shapes])


@operator("Dropout", "p training kind", weight=2)
def dropout(d):
    kind = d.option("kind", "dropout", "dropout", "dropout1d", "dropout2d", "alpha_dropout",
                    "feature_alpha_dropout")
    shape = {"dropout1d": (3, 4, 5), "dropout2d": (3, 4, 5, 6)}.get(kind) or d.shape(2, 4)
    x = d.tensor(shape, d.dtype(FLOATS))
    return call("F." + kind, x, d.option("p", 0.5, 0.1, 0.0), d.option("training", True, False))
