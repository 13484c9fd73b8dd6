"""Fragments for teacher_oracle.py in which rows of a product, mostly wider than a tile, are reduced:
fixed ones, and a random generator over prologues, epilogues, reductions, sides, batches, dtypes."""

import sys

# The oracle is the main program, or a module of the tests.
oracle = sys.modules["__main__"]
if not hasattr(oracle, "Fragment"):
    import teacher_oracle as oracle

REDUCTIONS = ["{}.sum({})", "{}.mean({})", "{}.amax({})", "{}.amin({})", "{}.argmax({})",
              "{}.argmin({})", "{}.max({}).values", "{}.min({}).indices", "{}.var({})",
              "{}.std({}, correction=0)", "torch.logsumexp({}, {})", "{}.norm(dim={})",
              "{}.square().sum({})", "({} > 0.5).any({})", "({} > -9).all({})",
              "({} * 0.005 + 1).prod({})"]
MASKED = ["{}.amax({})", "{}.argmax({})", "torch.logsumexp({}, {})", "{}.max({}).indices"]
EPILOGUES = ["{}", "F.relu({})", "{} + a2", "torch.tanh({} * 0.5)", "F.gelu({}) * a2",
             "{} * 2 - 0.1"]


def fragments():
    I, F = oracle.Input, oracle.Fragment
    x, w, bias = I((40, 24)), I((300, 24)), I((300,))
    labels, mask = I((40,), "int64"), I((40, 300), "bool")
    logits = "y = F.linear(a0, a1, a2)\n"
    loss = "F.cross_entropy(y, %s%s)"
    out = [
        F("loss", logits + "out = " + loss % ("a3.abs()", ""), [x, w, bias, labels]),
        F("loss_sum", logits + "out = " + loss % ("a3.abs()", ", reduction='sum'"),
          [x, w, bias, labels]),
        F("loss_each", logits + "out = " + loss % ("a3.abs()", ", reduction='none'"),
          [x, w, bias, labels]),
        F("loss_ignored", logits + "out = " + loss % ("a3.abs()", ", ignore_index=3"),
          [x, w, bias, labels]),
        F("loss_weighted", logits + "out = " + loss % ("a3.abs()", ", weight=a4"),
          [x, w, bias, labels, I((300,), positive=True)]),
        F("loss_smoothed", logits + "out = " + loss % ("a3.abs()", ", label_smoothing=0.1"),
          [x, w, bias, labels]),
        F("loss_of_a_batch", "y = F.linear(a0, a1).flatten(0, 1)\n"
          "out = F.cross_entropy(y, a2.abs().flatten())",
          [I((4, 10, 24)), w, I((4, 10), "int64")]),
        F("loss_half", "out = F.cross_entropy(F.linear(a0, a1).float(), a2.abs())",
          [I((40, 24), "bfloat16"), I((300, 24), "bfloat16"), labels]),
        F("loss_capped", "y = 5 * torch.tanh(F.linear(a0, a1) / 5)\n"
          "out = F.cross_entropy(y, a2.abs())", [x, w, labels]),
        F("masked", "y = F.linear(a0, a1).masked_fill(a2, -float('inf'))\n"
          "out = torch.logsumexp(y, -1), y.amax(-1), y.argmax(-1)", [x, w, mask]),
        # Whole tiles without anything, whole rows without anything.
        F("masked_tiles", "i = torch.arange(300, device=a0.device)\n"
          "y = torch.where((i < 260) | (a2[:, None] > 0), -float('inf'), a0 @ a1.t())\n"
          "out = torch.logsumexp(y, -1)", [x, w, labels]),
        F("infinite", "y = torch.where(a2, float('inf'), a0 @ a1.t())\nout = torch.logsumexp(y, -1)",
          [x, w, mask]),
        F("not_numbers", "y = torch.where(a2, float('nan'), a0 @ a1.t())\n"
          "out = y.amax(-1), y.argmax(-1), y.sum(-1)", [x, w, mask]),
        F("ties", "y = (a0 @ a1.t()).round().clamp(-2, 2)\nout = y.argmax(-1), y.min(-1).indices",
          [x, w]),
        F("far_from_zero", "y = a0 @ a1.t() + 1000\nout = y.var(-1)", [x, w]),
        F("large", "out = torch.logsumexp(200 * (a0 @ a1.t()), -1)", [x, w]),
        F("several", "y = F.linear(a0, a1, a2)\nout = y.sum(-1), y.amax(-1), torch.logsumexp(y, -1), "
          "y.argmin(-1), y.var(-1)", [x, w, bias]),
        F("left_side", "out = torch.logsumexp(a0 @ a1.t(), 0), (a0 @ a1.t()).argmax(0)",
          [I((300, 24)), I((40, 24))]),
        F("batched", "out = torch.logsumexp(a0 @ a1.transpose(-1, -2), -1) * 2",
          [I((2, 3, 17, 8)), I((2, 3, 290, 8))]),
        F("gated", "y = F.silu(a0 @ a1.t()) * (a0 @ a2.t())\nout = y.sum(-1), y.amax(-1)",
          [x, w, I((300, 24))]),
        F("norm_before", "y = F.rms_norm(a0, (24,), a2)\nout = torch.logsumexp(y @ a1.t(), -1)",
          [x, w, I((24,))]),
        F("mean_behind", "out = (a0 @ a1.t()).amax(-1).mean()", [x, w]),
        F("nearest", "d = a0.square().sum(1, keepdim=True) - 2 * a0 @ a1.t() + a1.square().sum(1)\n"
          "out = d.argmin(1), d.amin(1)", [x, w]),
        F("narrow", "y = a0 @ a1.t()\nout = torch.logsumexp(y, -1)", [x, I((100, 24))]),
        F("softmax_wide", "out = torch.softmax(a0 @ a1.t(), -1)", [x, w], refused=True),
        F("entropy", "p = torch.softmax(a0 @ a1.t(), -1)\nout = -(p * torch.log(p)).sum(-1)", [x, w],
          refused=True),
        F("two_products", "out = torch.logsumexp((a0 @ a1.t()) @ a2, -1)",
          [x, w, I((300, 280))], refused=True),
    ]
    for fragment in out:
        fragment.name = "product_rows_" + fragment.name
    return out


def random_fragment(rng, index):
    I = oracle.Input
    rows, columns = rng.choice([17, 33, 70]), rng.choice([100, 129, 257, 300, 512, 700])
    depth = rng.choice([8, 20, 33])
    dtype = rng.choice(["float32"] * 3 + ["bfloat16", "float16"])
    batch = rng.choice([(), (), (3,)])
    left, right = [batch + (rows, depth), (batch if rng.random() < 0.5 else ()) + (columns, depth)]
    flip = rng.random() < 0.2
    if flip:  # the rows of the result are columns of the left side
        left, right = (columns, depth), (rows, depth)
    product = "a0 @ a1.transpose(-1, -2)"
    if rng.random() < 0.3:
        product = rng.choice(["F.relu(a0) @ a1.transpose(-1, -2)",
                              "a0 @ (a1 * 0.5).transpose(-1, -2)"])
    y = rng.choice(EPILOGUES).format("(%s).float()" % product)
    inputs = [I(left, dtype), I(right, dtype), I((rows if flip else columns,))]
    lines = ["y = " + y]
    # Where values are equal after rounding (halves, tanh near 1), another may be the first.
    distinct = dtype == "float32" and "tanh" not in y
    kinds = [k for k in REDUCTIONS if distinct or not ("arg" in k or "indices" in k)]
    if rng.random() < 0.25:
        lines.append("y = torch.where(torch.abs(y) < %s, y, -float('inf'))"
                     % rng.choice(["0.3", "1.5"]))
        kinds = [k for k in kinds if k in MASKED]
    results = [rng.choice(kinds).format("y", -2 if flip else -1) for _ in range(rng.randint(1, 3))]
    lines.append("out = " + ", ".join(results) + ("," if len(results) > 1 else ""))
    return oracle.Fragment("random_product_rows%d" % index, "\n".join(lines), inputs)
