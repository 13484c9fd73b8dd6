"""Fragments of reductions and scans for teacher_oracle.py: fixed ones, and a random generator over
operators, ranks, sizes, dims, keepdim, dtypes and special values."""

import sys

# The oracle is the main program, or a module of the tests.
oracle = sys.modules["__main__"]
if not hasattr(oracle, "Fragment"):
    import teacher_oracle as oracle

INTEGERS = ["int64", "int32", "int16", "int8", "uint8", "bool"]
FLOATS = ["float32", "float16", "bfloat16", "float64"]


def statistics_fragments():
    """Normalisations that overwrite their running statistics, and other overwritten arguments."""
    I, F = oracle.Input, oracle.Fragment
    out = []
    for name, shape, dtype, order, eps in [
            ("", (4, 6, 5, 7), "float32", (), 1e-5), ("_long", (2, 3, 9001), "float32", (), 1e-5),
            ("_last", (3, 8, 4, 4), "float32", (0, 2, 3, 1), 1e-3), ("_flat", (33, 5), "float32", (), 1e-5),
            ("_one_channel", (4, 1, 7), "float32", (), 1e-5), ("_half", (4, 6, 30), "float16", (), 1e-5),
            ("_double", (5, 3, 6), "float64", (), 1e-5), ("_one_instance", (1, 4, 9), "float32", (), 1e-5)]:
        c = shape[1]
        inputs = [I(shape, dtype, order), I((c,), dtype), I((c,), dtype, positive=True),
                  I((c,), dtype), I((c,), dtype)]
        out.append(F("batch_norm_train" + name, "out = F.relu(F.batch_norm(a0, a1, a2, a3, a4, True, "
                     "0.3, %r))" % eps, inputs))
        if len(shape) > 2:
            out.append(F("instance_norm_train" + name, "out = F.instance_norm(a0, a1, a2, a3, a4, True, "
                         "0.3, %r) * 2" % eps, inputs))
    c, x = I((8,)), I((3, 8, 5, 5))
    positive = I((8,), positive=True)
    return out + [
        F("batch_norm_train_counted", "a3.add_(1)\nout = F.batch_norm(a0, a1, a2, None, None, True, 0.1)",
          [x, c, positive, I((), "int64")]),
        F("batch_norm_train_twice", "y = F.relu(F.batch_norm(a0, a1, a2, None, None, True, 0.1))\n"
          "out = F.batch_norm(y + a0, a1, a2, None, None, True, 0.1)", [x, c, positive], refused=True),
        F("batch_norm_train_read", "y = F.batch_norm(a0, a1, a2, None, None, True, 0.1)\n"
          "out = y + a1[:, None, None]", [x, c, positive]),
        F("batch_norm_train_read_before", "z = a1 * 2\ny = F.batch_norm(a0, a1, a2, None, None, True, 0.1)"
          "\nout = y + z[:, None, None]", [x, c, positive]),
        F("overwritten_row_sums", "s = a0.sum(1)\na1.mul_(0.9).add_(s, alpha=0.1)\nout = s * 2",
          [I((30, 50)), I((30,))]),
        F("overwritten_by_others", "out = a0 * 2\na0.mul_(0).add_(a1.t())", [I((30, 30)), I((30, 30))]),
        F("overwritten_and_read_across", "out = a0 + a0.t()\na0.mul_(2)", [I((30, 30))])]


def fragments():
    I, F = oracle.Input, oracle.Fragment
    x = I((6, 40))
    y = I((5, 41, 6))
    long = I((3, 30000))
    ties = I((6, 40), special="ties")
    nan = I((9, 40), special="ties nan")
    infinite = I((9, 40), special="inf -inf")
    last, image = ".contiguous(memory_format=torch.channels_last)", I((3, 8, 20, 20))
    moved = I((3, 8, 20, 20), order=(0, 2, 3, 1))
    return statistics_fragments() + [
        F("norm_to_channels_last", "out = F.silu(F.group_norm(a0, 4, a1, a2))%s" % last,
          [image, I((8,)), I((8,))]),
        F("norm_from_channels_last", "out = F.group_norm(a0 * 2, 4, a1, a2).contiguous()",
          [moved, I((8,)), I((8,))]),
        F("norm_and_its_input", "x = torch.cat([a0, a1], 1)\nout = x%s, F.group_norm(x, 2)%s"
          % (last, last), [image, moved]),
        F("softmax_transposed", "out = torch.softmax(a0, -1).t().contiguous(), a0.amax(-1)",
          [I((300, 700))]),
        F("cumsum", "out = a0.cumsum(-1), a0.cumsum(0)[:, None]", [x], refused=True),
        F("cumsum_inner", "out = torch.relu(a0 * 2).cumsum(-1) + a1", [x, x]),
        F("cumsum_middle", "out = a0.cumsum(1)", [y]),
        F("cumsum_long", "out = a0.cumsum(1) * 0.5", [long]),
        F("cumsum_int", "out = a0.cumsum(-1), (a0 > 2).cumsum(-1)", [I((6, 300), "int32")]),
        F("cumsum_half", "out = a0.cumsum(-1)", [I((6, 1300), "float16")]),
        F("cumsum_dtype", "out = a0.cumsum(0, dtype=torch.float64)", [x]),
        F("cumsum_constant", "out = torch.ones_like(a0).cumsum(1) * a0", [x]),
        F("cumsum_expanded", "out = a0[:, None].expand(6, 40).cumsum(1)", [I((6,))]),
        F("cumsum_scalar", "out = a0.cumsum(0)", [I(())]),
        F("cumprod", "out = a0.cumprod(-1)", [x]),
        F("cumprod_int", "out = (a0 % 3 + 1).cumprod(0)", [I((6, 40), "int32")], refused=True),
        F("cummax", "out = tuple(a0.cummax(-1))", [ties]),
        F("cummin_nan", "out = tuple(a0.cummin(-1))", [nan]),
        F("cummax_outer", "v, i = a0.cummax(0)\nout = v * 2, i", [nan]),
        F("cummax_long", "out = tuple(a0.cummax(1))", [I((2, 9000), special="ties nan")]),
        F("cummax_bool", "out = tuple(a0.cummax(1))", [I((6, 40), "bool")]),
        F("cummin_bytes", "out = tuple(a0.cummin(1))", [I((6, 40), "uint8")]),
        F("logcumsumexp", "out = a0.logcumsumexp(1)", [infinite]),
        F("logcumsumexp_long", "out = a0.logcumsumexp(1)", [I((2, 5000))]),
        F("scan_chain", "p = torch.softmax(a0, -1).cumsum(-1)\nout = torch.where(p < 0.9, a0, 0.0)",
          [I((6, 130))]),
        F("scan_reduced", "out = a0.cumsum(-1).mean(-1), a0.cumsum(-1).amax(-1)", [I((6, 5000))]),

        F("argmax_nan", "out = a0.argmax(-1), a0.argmin(0)[:, None]", [nan], refused=True),
        F("argmax_nan_rows", "out = a0.argmax(-1), a0.argmin(-1)", [nan]),
        F("argmin_nan_all", "out = a0.argmin()", [I((3, 9000), special="nan")]),
        F("argmax_infinite", "out = a0.argmax(1), a0.argmin(1)", [infinite]),
        F("argmax_keepdim", "out = a0.argmax(1, keepdim=True)", [y]),
        F("argmax_long", "out = a0.argmax(1), a0.argmin(1)", [I((3, 30000), special="ties")]),
        F("argmax_transposed_all", "out = a0.t().argmax()", [I((60, 70), special="ties")]),
        F("max_all", "out = a0.max(), a0.min()", [nan]),
        F("max_nan", "v, i = a0.max(-1)\nw, j = a0.min(-1)\nout = v, i, w + 1, j", [nan]),
        F("max_bool", "v, i = a0.max(1)\nout = v, i, a0.amin(1), a0.any(1)", [I((6, 40), "bool")]),
        F("max_bytes", "out = tuple(a0.max(1)) + (a0.amax(1),)", [I((6, 40), "uint8")]),
        F("max_int64", "out = a0.max(), a0.min()", [I((60, 400), "int64")]),
        F("amax_nan", "out = a0.amax((0, 1)), a0.amin()", [nan]),
        F("aminmax", "out = tuple(torch.aminmax(a0, dim=1))", [nan]),
        F("any_float", "out = a0.any(), (a0 - a0).any(), a0.all()", [nan]),
        F("any_dims", "out = a0.any((0, 2)), a0.all((0, 2))", [I((5, 41, 6), "bool")]),
        F("any_bytes", "out = a0.any(-1), a0.all(-1, keepdim=True)[:, 0]", [I((6, 40), "uint8")]),
        F("prod", "out = a0.prod(-1), a0.prod(1, keepdim=True)", [x]),
        F("prod_all", "out = a0.prod()", [I((50, 60), positive=True)]),
        F("prod_int", "out = (a0 * 2 + 1).prod(0)", [I((60, 30), "int32")]),
        F("sum_dtype", "out = a0.sum(0, dtype=torch.float64), a0.sum(0, dtype=torch.int32)",
          [I((6, 40), "int8")]),
        F("sum_narrow", "out = a0.sum(1, dtype=torch.int8)", [I((6, 400), "int32")]),
        F("mean_int", "out = a0.mean((0, 1), dtype=torch.float32)", [I((60, 40), "int64")]),
        F("mean_bool", "out = a0.mean(0, keepdim=True, dtype=torch.float64)", [I((60, 40), "bool")]),
        F("var_all", "out = a0.var(), a0.std(unbiased=False)", [I((3, 30000))]),
        F("var_correction", "out = a0.var(1, correction=2.5), a0.std(1, correction=3, keepdim=True)",
          [I((6, 4))]),
        F("var_undefined", "out = a0.var(1), a0.var(1, correction=5), a0.std(1, correction=0)",
          [I((6, 1))]),
        F("var_mean", "out = torch.var_mean(a0, (0, 2), keepdim=True)", [y]),
        F("std_mean_half", "out = torch.std_mean(a0, -1)", [I((6, 130), "float16")]),
        F("norms", "v = torch.linalg.vector_norm\nout = v(a0, 0, dim=1), v(a0, 1, dim=1), "
          "v(a0, float('inf'), dim=1), v(a0, float('-inf'), dim=1), v(a0, 3, dim=1), "
          "v(a0, 2.5, dim=1), v(a0, 0.5, dim=1), v(a0, -1.5, dim=1)", [I((6, 40), special="zero")]),
        F("norms_nan", "v = torch.linalg.vector_norm\nout = v(a0, 0, dim=1), "
          "v(a0, float('inf'), dim=1), v(a0, float('-inf'), dim=1), v(a0, 2, dim=1)", [nan]),
        F("norm_dtype", "out = torch.linalg.vector_norm(a0, 4, dim=(0, 1), dtype=torch.float64)",
          [x]),
        F("pairwise", "out = F.pairwise_distance(a0, a1)", [x, x]),
        F("normalize", "out = F.normalize(a0, p=3.0, dim=0)", [x]),
        F("nansum", "out = a0.nansum(-1)", [nan]),
        F("count_nonzero", "out = a0.count_nonzero(-1)", [ties]),
        F("logsumexp_infinite", "out = torch.logsumexp(a0, -1)", [infinite]),
        F("logsumexp_all", "out = torch.logsumexp(a0, (0, 1))", [I((3, 9000))]),

        F("softmax_infinite", "out = torch.softmax(a0, -1), torch.log_softmax(a0, -1)", [infinite]),
        F("softmax_nan", "out = torch.softmax(a0, 1)", [nan]),
        F("softmax_dtype", "out = torch.softmax(a0, 0, dtype=torch.float64)", [x]),
        F("softmax_int", "out = torch.softmax(a0, 0, dtype=torch.float32)", [I((6, 40), "int32")]),
        F("softmax_scalar", "out = torch.softmax(a0, 0), torch.log_softmax(a0, 0)", [I(())]),
        F("softmax_one", "out = torch.softmax(a0, 1)", [I((6, 1, 4))]),
        F("softmin", "out = F.softmin(a0, 1)", [y]),
        F("softmax_flat", "out = torch.softmax(a0.reshape(-1), 0)", [I((50, 400))]),

        F("nan_clamps", "out = torch.clamp(a0, -1, 1), F.relu(a0), torch.maximum(a0, a1), "
          "torch.minimum(a0, a1), F.hardtanh(a0), F.hardsigmoid(a0), F.hardswish(a0), "
          "F.leaky_relu(a0), F.threshold(a0, 0.5, 2.0), F.relu6(a0)", [nan, nan]),
        F("extrema_of_integers", "out = torch.maximum(a0, a1), torch.minimum(a0, a1), F.relu(a2), "
          "F.relu(a3)", [I((50,), "bool"), I((50,), "bool"), I((50,), "int64"), I((50,), "int8")]),
        F("nan_activations", "out = F.softplus(a0), F.elu(a0), F.mish(a0), F.logsigmoid(a0), "
          "F.selu(a0), F.gelu(a0), F.silu(a0), F.softsign(a0), torch.sign(a0)", [nan]),
    ]


def large_fragments():
    """Of the size that a GPU is for."""
    I, F = oracle.Input, oracle.Fragment
    square, long, short = I((8192, 4096)), I((4, 1 << 24)), I((1 << 20, 64))
    return [F("big_" + name, "out = " + text, [shape]) for name, text, shape in (
        ("cumsum", "a0.cumsum(1)", square), ("cumsum_outer", "a0.cumsum(0)", square),
        ("cumsum_long", "a0.cumsum(1)", long), ("cumsum_short", "a0.cumsum(1)", short),
        ("cumsum_middle", "a0.cumsum(1)", I((64, 1024, 512))), ("cumprod", "a0.cumprod(1)", square),
        ("cummax", "tuple(a0.cummax(1))", square), ("cummax_long", "tuple(a0.cummax(1))", long),
        ("cummin_outer", "tuple(a0.cummin(0))", square),
        ("logcumsumexp", "a0.logcumsumexp(1)", square), ("argmax", "a0.argmax(1)", square),
        ("argmax_all", "a0.argmax()", square), ("argmax_long", "a0.argmax(1)", long),
        ("argmin_outer", "a0.argmin(0)", square), ("max_dim", "tuple(a0.max(1))", short),
        ("max_middle", "tuple(a0.max(1))", I((64, 1024, 512))), ("max_all", "a0.max()", square),
        ("sum_all", "a0.sum()", square), ("sum_long", "a0.sum(1)", long),
        ("var_all", "a0.var()", square), ("var", "a0.var(1)", square),
        ("norm3", "torch.linalg.vector_norm(a0, 3, dim=1)", square), ("prod", "a0.prod(1)", square),
        ("softmax_outer", "torch.softmax(a0, 0)", square),
        ("softmax_long", "torch.softmax(a0, 1)", long),
        ("log_softmax_middle", "torch.log_softmax(a0, 1)", I((64, 1024, 512))))]


def call(rng, rank, dtype):
    """The text of one operator on `x`; several results as a tuple."""
    dims = tuple(d - rank if rng.random() < 0.5 else d
                 for d in sorted(rng.sample(range(rank), rng.randint(1, rank))))
    dim = rng.randrange(-rank, rank)
    keep = rng.choice(["", ", keepdim=True"])
    real = dtype in FLOATS
    wider = rng.choice(["", "", "", ", dtype=torch.float64", ", dtype=torch.float32"])
    choices = [
        "x.sum(%s%s%s)" % (dims, keep, wider), "x.sum()", "x.amax(%s%s)" % (dims, keep),
        "x.amin(%s%s)" % (dims, keep), "x.max()", "x.min()", "tuple(x.max(%d%s))" % (dim, keep),
        "tuple(x.min(%d%s))" % (dim, keep), "x.any(%d%s)" % (dim, keep), "x.all(%s%s)" % (dims, keep),
        "x.any()", "x.prod(%d%s%s)" % (dim, keep, wider), "x.prod()", "x.cumsum(%d%s)" % (dim, wider),
        "x.cumprod(%d%s)" % (dim, wider), "tuple(x.cummax(%d))" % dim, "tuple(x.cummin(%d))" % dim,
        "x.cumsum(%d)" % dim, "x.cummax(%d)[0]" % dim, "x.count_nonzero(%s)" % (dims,),
        "torch.softmax(x, %d%s)" % (dim, wider or ", dtype=torch.float32"),
        "x.mean(%s%s, dtype=torch.float32)" % (dims, keep)]
    if dtype != "bool":
        choices += ["x.argmax(%d%s)" % (dim, keep), "x.argmin(%d%s)" % (dim, keep), "x.argmax()",
                    "x.argmin()", "torch.logsumexp(x, %s%s)" % (dims, keep)]
    if real:
        order = rng.choice(["0", "1", "2", "3", "0.5", "2.5", "-1", "float('inf')", "-float('inf')"])
        correction = rng.choice(["0", "1", "2", "0.5", "7"])
        choices += [
            "x.mean(%s%s)" % (dims, keep), "x.mean()", "x.logcumsumexp(%d)" % dim,
            "x.var(%s, correction=%s%s)" % (dims, correction, keep), "x.std()",
            "torch.std_mean(x, %s, correction=%s%s)" % (dims, correction, keep),
            "torch.var_mean(x, %s, correction=%s%s)" % (dims, correction, keep),
            "torch.linalg.vector_norm(x, %s, dim=%s%s)" % (order, dims, keep),
            "torch.linalg.vector_norm(x, %s)" % order, "torch.softmax(x, %d)" % dim,
            "torch.log_softmax(x, %d)" % dim, "F.softmin(x, %d)" % dim, "x.nansum(%s%s)" % (dims, keep)]
    return rng.choice(choices)


def random_fragment(rng, index):
    rank = rng.randint(1, 5)
    limit, shape = rng.choice([200, 5000, 30000]), []
    for _ in range(rank):
        fits = [n for n in (1, 2, 3, 5, 7, 8, 16, 17, 33, 64, 130, 257, 1000, 9001) if n <= limit]
        shape.append(rng.choice(fits))
        limit //= shape[-1]
    rng.shuffle(shape)
    dtype = rng.choice(FLOATS * 2 + INTEGERS)
    order = tuple(rng.sample(range(rank), rank)) if rng.random() < 0.3 else ()
    special = rng.choice(["", "", "ties", "ties nan", "inf", "zero ties", "-inf"])
    body = "x = a0"
    if dtype in FLOATS:
        body = rng.choice(["x = a0", "x = a0", "x = a0 * 0.5", "x = F.relu(a0)",
                           "x = a0.transpose(0, -1)", "x = a0.flatten()[None] + 1"])
    text = call(rng, 2 if "flatten" in body else rank, dtype)
    if "_mean(x" in text and "inf" in special:  # PyTorch's mean of an infinity and others is NaN
        special = ""
    if "prod" in text or ", 0.5" in text:  # overflows somewhere else in another order
        special = rng.choice(["", "ties"])
        dtype = "float32" if dtype in ("float16", "bfloat16") else dtype
    body += "\nout = " + text
    if rng.random() < 0.3 and not text.startswith(("tuple", "torch.std_m", "torch.var_m")):
        body += "\nout = torch.abs(out.float()) + 1, out" if rng.random() < 0.5 else \
            "\nout = out * 2"
    return oracle.Fragment("rows%d" % index, body, [oracle.Input(tuple(shape), dtype, order,
                                                                 special=special)])
