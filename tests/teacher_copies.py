"""teacher_oracle.py for operators that move elements and for windows: fixed fragments, and random
ones over every parameter of an operator.

    python tests/teacher_copies.py --emit build/teacher_emit [--copies 100] [--windows 100]
"""

import random
import sys
from dataclasses import dataclass

import torch

import teacher_oracle as oracle
from teacher_oracle import Fragment, Input


@dataclass
class Index(Input):
    """Integers from `low` up to, not including, `high`."""
    low: int = 0
    high: int = 1

    def make(self, generator):
        t = super().make(generator)
        if generator is None:
            return t
        t.copy_(torch.randint(self.low, self.high, t.shape, generator=generator))
        return t


@dataclass
class Holes(Input):
    """With some NaN and infinities."""

    def make(self, generator):
        t = super().make(generator)
        if generator is None:
            return t
        choice = torch.rand(t.shape, generator=generator)
        for i, value in enumerate((float("nan"), float("-inf"), float("inf"))):
            t[(choice > 0.1 * i) & (choice < 0.1 * i + 0.05)] = value
        return t


def copies():
    I, F = Input, Fragment
    x, image = I((6, 40)), I((3, 4, 5, 7))
    at = Index((2, 5), "int64", high=6)
    return [
        F("transposed_copy", "out = a0.permute(0, 2, 3, 1).contiguous()", [image]),
        F("transposed_last", "out = a0.transpose(-1, -2).contiguous() * 2", [I((70, 33))]),
        F("tril_types", "out = a0.tril(-1), a1.triu(2), a2.tril()",
          [I((5, 7), "float16"), I((5, 7), "int64"), I((5, 7), "bool")]),
        F("range_by_steps", "out = a0 * torch.arange(0, 80, 2, device=a0.device).to(a0.dtype), "
          "a0 + torch.arange(5, -35, -1, device=a0.device)", [x]),
        F("filled", "out = torch.empty_like(a0).fill_(3) + a0, a0.new_empty(2, 3).zero_() + 1",
          [x]),
        F("nothing", "out = a0 * 2, torch.zeros(0, 3, device=a0.device)", [x], refused=True),
        F("copied_into", "y = torch.empty_like(a0)\ny.copy_(a1 + 1)\nout = y * a0", [x, I((40,))]),
        F("argument_overwritten", "out = a0.copy_(a1) * 2", [x, I((6, 40), "int64")]),
        F("degrees", "out = torch.deg2rad(a0), torch.rad2deg(a0)", [x]),
        F("logaddexp", "out = torch.logaddexp(a0, a1 * 30)", [x, x]),
        F("logaddexp_special", "out = torch.logaddexp(a0, a1)",
          [Holes((6, 40)), Holes((6, 40))]),
        F("entropies", "out = torch.special.entr(a0)", [Holes((6, 40))]),
        F("squared_in_place", "y = a0 + 1\ny.square_()\nout = y * 2", [x]),
        F("slice_scatter", "out = torch.slice_scatter(a0, a1 * 2, 1, 3, 30, 3)",
          [x, I((6, 9))]),
        F("select_scatter", "out = torch.select_scatter(a0, a1, 0, -2) + 1", [x, I((40,))]),
        F("diag_embed", "out = torch.diag_embed(a0, -1) * 2", [I((3, 5))]),
        F("cat_rows", "out = torch.cat([a0, a1 * 2, a0], 0)", [x, I((3, 40))]),
        F("cat_columns", "out = torch.relu(torch.cat([a0, F.gelu(a1)], -1)) + a2",
          [x, I((6, 9)), I((49,))]),
        F("cat_mixed", "out = torch.cat([a0, a1, a2], 1)",
          [I((2, 3, 4), "float16"), I((2, 1, 4)), I((2, 5, 4), order=(2, 0, 1))]),
        F("cat_ints", "out = torch.cat([a0, a1]), torch.cat([a1, a0])",
          [I((7,), "int64"), I((5,), "int32")]),
        F("cat_many", "out = torch.cat([a0[:, i:i + 1 + i % 3] for i in range(12)], 1)", [x]),
        F("cat_of_softmax", "out = torch.cat([torch.softmax(a0, -1), a1], 0)", [x, I((2, 40))],
          refused=True),
        F("stack", "out = torch.stack([a0, a1, a0 + a1], 1) * 3", [x, x]),
        F("stack_last", "out = torch.stack([a0, a1], -1)", [x, I((6, 40), order=(1, 0))]),
        F("cat_reshaped", "out = torch.cat([a0, a1], 1).view(6, 4, 20) * a2",
          [x, x, I((4, 20))]),
        F("cat_sliced", "out = torch.cat([a0, a1], 1)[:, 30:50:2]", [x, x]),
        F("rotary", "b, c = a0.chunk(2, -1)\nout = a0 * a1 + torch.cat([-c, b], -1) * a2",
          [I((2, 3, 8, 16)), I((8, 16)), I((8, 16))]),
        F("cat_norm", "out = F.layer_norm(torch.cat([a0, a1], -1), (49,), a2)",
          [x, I((6, 9)), I((49,))]),
        F("pad", "out = F.pad(a0, (1, 2, 3, 0))", [image]),
        F("pad_value", "out = F.pad(F.relu(a0), (2, 1), value=-1.5) + a1", [x, I((43,))]),
        F("pad_cut", "out = F.pad(a0, (-1, 2, 1, -2))", [image]),
        F("pad_ones", "out = F.pad(a0, (1, 1, 0, 2), value=7)", [I((3, 1), "int32")]),
        F("pad_bool", "out = F.pad(a0, (1, 1), value=True)", [I((3, 5), "bool")]),
        F("pad_reflect", "out = F.pad(a0, (2, 1, 3, 4), mode='reflect') * 2", [image]),
        # A position inside a part that was placed already: its bounds must reach every load.
        F("cat_of_cat", "y = torch.cat([a0, a1], 0)\nout = torch.cat([y, y * 2], 0)",
          [I((3,)), I((5,))]),
        F("cat_of_roll", "out = torch.cat([a0.roll(2), a1, a0.roll(-1)])", [I((7,)), I((4,))]),
        F("pad_of_roll", "out = F.pad(a0.roll(1), (1, 2)) * 2", [I((3, 6))]),
        F("pad_of_cat", "out = F.pad(torch.cat([a0, a1], 1), (2, 3))", [I((3, 6)), I((3, 2))]),
        F("softmax_of_cats", "y = torch.cat([a0, a1], 1)\n"
          "out = torch.softmax(torch.cat([y, y * 2], 1), -1)", [I((3, 6)), I((3, 5))]),
        F("max_of_cat", "out = F.max_pool2d(torch.cat([a0, a1], 3), 3, 2, 1)",
          [I((2, 3, 6, 6)), I((2, 3, 6, 5))]),
        F("mean_of_cats", "y = torch.cat([a0, a1], 2)\n"
          "out = F.avg_pool2d(torch.cat([a1, y], 2), 3, 1, 1)",
          [I((2, 3, 6, 6)), I((2, 3, 5, 6))]),
        # Which part an element comes from varies along the contraction, its place in the part does
        # not: only one of the tile's sizes fits.
        F("product_with_stack", "out = torch.bmm(a0, torch.stack([a1, a2], 1))",
          [I((2, 70, 2)), I((2, 3)), I((2, 3))]),
        F("product_of_stack", "out = torch.stack([a0, a1], 1) @ a2 * 2",
          [I((40,)), I((40,)), I((2, 50))]),
        F("stack_times_product", "out = torch.stack([a0, a1], 0) * (a2 @ a3)",
          [I((90,)), I((90,)), I((2, 30)), I((30, 90))]),
        F("scatter_of_cat", "out = torch.slice_scatter(a2, torch.cat([a0, a1], 1), 1, 2, 13)",
          [I((3, 6)), I((3, 5)), I((3, 20))]),
        F("shifted_in_cat", "y = torch.cat([a0[:, :1], a0[:, :-1]], 1)\n"
          "out = torch.cat([y, a0, y], 1)", [I((3, 6))]),
        F("pad_replicate", "out = F.pad(a0, (2, 1, 0, 4), mode='replicate')", [image]),
        F("pad_circular", "out = F.pad(a0, (2, 1, 3, 0), mode='circular')", [image]),
        F("pad_mean", "out = F.pad(a0, (1, 2)).mean(-1)", [x]),
        F("roll", "out = torch.roll(a0, (1, -2), (2, 3)) + a0", [image]),
        F("roll_flat", "out = torch.roll(a0, 5)", [x]),
        F("shifted_norm", "y = torch.roll(a0, (-2, -1), (1, 2))\nout = F.layer_norm(y, (8,))",
          [I((2, 4, 5, 8))]),
        F("flip", "out = a0.flip(0, 3) - a0", [image]),
        F("rot90", "out = torch.rot90(a0, 1, (2, 3))", [image]),
        F("repeat", "out = a0.repeat(2, 1, 3) * 2", [I((4, 5))]),
        F("repeat_interleave", "out = a0.repeat_interleave(3, 1) + a1", [I((4, 5)), I((4, 15))]),
        F("repeat_all", "out = a0.repeat_interleave(2)", [I((4, 5))]),
        F("expanded_copy", "out = a0.expand(3, 4, 5).contiguous()", [I((4, 1))]),
        F("index_select", "out = a0.index_select(1, a1) * 2", [x, Index((9,), "int64", high=40)]),
        F("gather", "out = a0.gather(1, a1) + 1", [x, Index((4, 7), "int64", high=40)]),
        F("gather_rows", "out = torch.relu(a0.gather(0, a1))",
          [I((6, 7)), Index((9, 7), "int64", high=6)]),
        F("gather_last", "out = F.log_softmax(a0, -1).gather(1, a1)",
          [x, Index((6, 1), "int64", high=40)], refused=True),
        F("take", "out = a0.take(a1)", [x, Index((3, 4), "int64", low=-240, high=240)]),
        F("take_along", "out = torch.take_along_dim(a0, a1, 1)",
          [x, Index((6, 3), "int64", high=40)]),
        F("advanced", "out = a0[:, a1].sum(0) * 2 + a0[a2, a1]",
          [x, Index((2, 5), "int64", low=-40, high=40), Index((5,), "int64", high=6)]),
        F("advanced_apart", "out = a0[a1, :, a1]", [I((6, 4, 6)), Index((5,), "int64", high=6)]),
        F("embedding", "out = F.embedding(a0, a1, padding_idx=0) * 2 + a2",
          [at, I((6, 9)), I((5, 9))]),
        F("embedding_norm", "out = F.layer_norm(F.embedding(a0, a1) + a2, (33,), a3)",
          [at, I((6, 33), "float16"), I((5, 33), "float16"), I((33,), "float16")]),
        F("one_hot", "out = F.one_hot(a0, 6)", [at], refused=True),
        F("comparison", "out = (a0[:, :, None] == torch.arange(6, device=a0.device)).float()",
          [at]),
        F("unfold", "out = a0.unfold(1, 5, 3) * 2", [x]),
        F("diagonal", "out = a0.diagonal(1, 1, 2) * 2", [I((2, 5, 7))]),
        F("pixel_shuffle", "out = F.relu(F.pixel_shuffle(a0, 2))", [I((2, 8, 3, 5))]),
        F("pixel_unshuffle", "out = F.pixel_unshuffle(a0, 2)", [I((2, 3, 4, 6))]),
        F("channel_shuffle", "out = F.channel_shuffle(a0, 3)", [I((2, 6, 4, 5))]),
        F("im2col", "out = F.unfold(a0, 3, padding=1, stride=2, dilation=1)", [image]),
        F("narrow", "out = a0.narrow(1, 3, 9).clone() + a0[2, 5:14]", [x]),
    ]


def windows():
    I, F = Input, Fragment
    line, image, volume = I((2, 3, 17)), I((2, 3, 9, 11)), I((2, 2, 5, 6, 7))
    return [
        F("max_pool", "out = F.relu(F.max_pool2d(a0, 2))", [image]),
        F("max_pool_all", "out = F.max_pool2d(a0 * 2, 3, 2, 1, dilation=2, ceil_mode=True) + 1",
          [image]),
        F("max_pool_nan", "out = F.max_pool2d(a0, 3, 1, 1)", [Holes((2, 3, 9, 11))]),
        F("max_pool_index", "out = F.max_pool2d(a0, 3, 2, 1, return_indices=True)",
          [Holes((2, 3, 9, 11))]),
        F("max_pool_1", "out = F.max_pool1d(a0, 3, 2, 1)", [line]),
        F("max_pool_3", "out = F.max_pool3d(a0, 2, 1, 1)", [volume]),
        F("max_pool_to_one", "out = F.max_pool2d(a0 * a1, 4, 2, 1, dilation=2)", [I((2, 6, 5, 5)), I((5, 5))]),
        F("max_pool_to_one_row", "out = torch.sin(F.max_pool2d(a0 + a1, (1, 3), 1))",
          [I((2, 6, 1, 3)), I((1, 3))]),
        F("max_pool_large", "out = F.max_pool2d(a0, 9, 2, 4)", [I((2, 3, 19, 21))]),
        F("max_pool_large_index", "out = F.max_pool2d(a0, 9, 2, 4, return_indices=True)",
          [Holes((1, 2, 19, 13))]),
        F("avg_pool", "out = F.avg_pool2d(F.gelu(a0), 2) * a1", [image, I((4, 5))]),
        F("avg_pool_all", "out = F.avg_pool2d(a0, 3, 2, 1, ceil_mode=True), "
          "F.avg_pool2d(a0, 3, 2, 1, True, False)", [I((2, 3, 10, 12))]),
        F("avg_pool_divisor", "out = F.avg_pool2d(a0, 3, divisor_override=7)", [image]),
        F("avg_pool_1", "out = F.avg_pool1d(a0, 4, 2, 1, count_include_pad=False)", [line]),
        F("avg_pool_3", "out = F.avg_pool3d(a0, 3, 2, 1)", [volume]),
        F("avg_pool_half", "out = F.avg_pool2d(a0, 3, 1, 1)", [I((2, 3, 9, 11), "float16")]),
        F("global_pool", "out = F.relu(F.adaptive_avg_pool2d(a0, 1)).flatten(1)", [image]),
        F("adaptive", "out = F.adaptive_avg_pool2d(a0, (4, 3))", [image]),
        F("adaptive_1", "out = F.adaptive_avg_pool1d(a0, 5), F.adaptive_max_pool1d(a0, 5)", [line]),
        F("adaptive_max", "out = F.adaptive_max_pool2d(a0, (3, 11), return_indices=True)", [image]),
        F("adaptive_3", "out = F.adaptive_avg_pool3d(a0, (2, 3, 7))", [volume]),
        F("nearest", "out = F.interpolate(a0, scale_factor=2) + a1", [image, I((2, 3, 18, 22))]),
        F("nearest_size", "out = F.interpolate(a0, size=(7, 16))", [image]),
        F("nearest_exact", "out = F.interpolate(a0, size=(5, 16), mode='nearest-exact')", [image]),
        F("bilinear", "out = F.relu(F.interpolate(a0, scale_factor=2, mode='bilinear'))", [image]),
        F("bilinear_corners", "out = F.interpolate(a0, size=(7, 1), mode='bilinear', "
          "align_corners=True)", [image]),
        F("linear_1", "out = F.interpolate(a0, size=40, mode='linear')", [line]),
        F("trilinear", "out = F.interpolate(a0, scale_factor=1.5, mode='trilinear')", [volume]),
        F("bicubic", "out = F.interpolate(a0, size=(13, 6), mode='bicubic')", [image]),
        F("area", "out = F.interpolate(a0, size=(4, 5), mode='area')", [image]),
        F("lp_pool", "out = F.lp_pool2d(a0, 2, 2)", [image], refused=True),
    ]


def losses():
    I, F = Input, Fragment
    x = I((12, 7))
    share = Index((12, 7), "float32", low=0, high=2)
    label = Index((12,), "int64", high=7)
    return [
        F("mse", "out = F.mse_loss(a0, a1)", [x, x]),
        F("smooth_l1", "out = F.smooth_l1_loss(a0, a1, beta=0.5, reduction='none')", [x, x]),
        F("huber", "out = F.huber_loss(a0 * 2, a1, delta=0.7, reduction='sum')", [x, x]),
        F("soft_margin", "out = F.soft_margin_loss(a0, a1)", [x, x]),
        F("bce", "out = F.binary_cross_entropy(torch.sigmoid(a0), a1, a2)", [x, share, x]),
        F("bce_logits", "out = F.binary_cross_entropy_with_logits(a0, a1, pos_weight=a2)",
          [x, share, I((7,), positive=True)]),
        F("kl_div", "out = F.kl_div(a0, a1, reduction='batchmean')",
          [x, I((12, 7), positive=True)]),
        F("nll", "out = F.nll_loss(a0, a1, a2, ignore_index=3)",
          [x, label, I((7,), positive=True)]),
        F("nll_plane", "out = F.nll_loss(a0, a1, reduction='sum')",
          [I((2, 7, 3, 5)), Index((2, 3, 5), "int64", high=7)]),
        F("cross_entropy_each", "out = F.cross_entropy(a0, a1, reduction='none')", [x, label]),
        F("cross_entropy", "out = F.cross_entropy(a0, a1)", [x, label]),
        F("cross_entropy_sum", "out = F.cross_entropy(a0 * 2, a1, reduction='sum')",
          [I((12, 7), "bfloat16"), label]),
        F("cross_entropy_weighted", "out = F.cross_entropy(a0, a1, a2, ignore_index=3)",
          [x, label, I((7,), positive=True)]),
        F("cross_entropy_plane", "out = F.cross_entropy(a0, a1) + 1",
          [I((2, 7, 3, 5)), Index((2, 3, 5), "int64", high=7)]),
        F("cross_entropy_shares", "out = F.cross_entropy(a0, a1.softmax(-1))", [x, x]),
        F("cross_entropy_smooth", "out = F.cross_entropy(a0, a1, label_smoothing=0.1)",
          [x, label]),
        F("triplet_mean", "out = F.triplet_margin_loss(a0, a1, a2)", [x, x, x]),
        F("multilabel", "out = F.multilabel_soft_margin_loss(a0, a1)", [x, share]),
        F("hinge", "out = F.hinge_embedding_loss(a0, torch.where(a1 > 0, 1.0, -1.0))", [x, x]),
        F("cosine_loss", "out = F.cosine_embedding_loss(a0, a1, torch.where(a2 > 0, 1.0, -1.0))",
          [x, x, I((12,))]),
        F("distilled", "out = F.kl_div(F.log_softmax(a0 / 3, -1), F.softmax(a1 / 3, -1), "
          "reduction='batchmean') * 9", [x, x]),
        F("entropy", "p = F.softmax(a0, 1)\nout = -(p * p.log()).mean()", [I((3, 5, 4))]),
        F("mean_of_norms", "out = a0.norm(dim=-1).mean(), a0.norm(dim=-1)", [x]),
        F("softmax_of_means", "out = torch.softmax(a0.mean((2, 3)), -1)", [I((3, 5, 4, 6))]),
        F("norm_of_means", "out = F.layer_norm(a0.mean(1), (7,), a1)", [I((6, 9, 7)), I((7,))]),
        F("variance_of_maxima", "out = a0.amax(-1).var(0)", [I((6, 5, 40))]),
        F("three_levels", "out = a0.amax(-1).sum(-1).mean()", [I((6, 5, 40))]),
        F("triplet", "out = F.triplet_margin_loss(a0, a1, a2, reduction='none')", [x, x, x]),
        F("cosine", "out = F.cosine_similarity(a0, a1, -1)", [x, x]),
    ]


def fixed_fragments():
    return copies() + windows() + losses()


REALS = ["float32"] * 4 + ["float16", "bfloat16", "float64"]
DTYPES = REALS + ["int64", "int32", "bool", "uint8"]
SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 16, 33]


def random_shape(rng, rank, limit=6000):
    shape = []
    for _ in range(rank):
        shape.append(rng.choice([n for n in SIZES if n <= max(limit, 1)]))
        limit //= shape[-1]
    rng.shuffle(shape)
    return tuple(shape)


def random_input(rng, shape, dtype):
    order = tuple(rng.sample(range(len(shape)), len(shape))) if rng.random() < 0.3 else ()
    return Input(tuple(shape), dtype, order)


def surrounded(rng, lines, inputs, dtype, real):
    """Pointwise operators before and after, where the dtype allows them."""
    if real and rng.random() < 0.4:
        lines.insert(0, "a0 = " + rng.choice(oracle.UNARY).format("a0"))
    if real and rng.random() < 0.4:
        lines.append("y = " + rng.choice(oracle.UNARY).format("y"))
    if real and rng.random() < 0.15:
        lines.append("y = y - y.mean(-1, keepdim=True)")
    lines.append("out = y")


def random_copy(rng, index):
    dtype = rng.choice(DTYPES)
    real = dtype in REALS
    rank = rng.randint(1, 4)
    shape = random_shape(rng, rank)
    dim = rng.randrange(rank)
    inputs = [random_input(rng, shape, dtype)]
    kind = rng.choice(KINDS)
    lines = []
    if kind in ("tril", "diagonal") and rank < 2:
        shape = shape + (5,)
        rank = 2
        inputs = [random_input(rng, shape, dtype)]
    if kind == "cat":
        names = ["a0"]
        for i in range(1, rng.randint(2, 5)):
            own = list(shape)
            own[dim] = rng.choice(SIZES[:8])
            inputs.append(random_input(rng, own, dtype if rng.random() < 0.8 else "float32"))
            names.append("a%d" % i)
        rng.shuffle(names)
        lines = ["y = torch.cat([%s], %d)" % (", ".join(names), dim - rng.choice([0, rank]))]
        real = real and all(i.dtype in REALS for i in inputs)
    elif kind == "stack":
        inputs += [random_input(rng, shape, dtype) for _ in range(rng.randint(1, 3))]
        lines = ["y = torch.stack([%s], %d)" % (", ".join("a%d" % i for i in range(len(inputs))),
                                                rng.randint(-rank - 1, rank))]
    elif kind == "pad":
        mode = rng.choice(["constant"] * 3 + ["reflect", "replicate", "circular"])
        if mode == "constant":
            pads = [rng.choice([0, 0, 1, 2, 5, -1]) for _ in range(2 * rng.randint(1, rank))]
            value = rng.choice(["", ", value=1", ", value=0"] + ([", value=-0.3"] if real else []))
            lines = ["y = F.pad(a0, %s%s)" % (tuple(pads), value)]
        else:
            rank = rng.randint(2, 4)
            shape = random_shape(rng, rank)
            inputs = [random_input(rng, shape, rng.choice(REALS))]
            count = rng.choice([n for n in (1, 2) if n in (rank - 1, rank - 2)] or [1])
            pads = [min(rng.randint(0, 3), shape[-1 - i // 2] - (mode == "reflect"))
                    for i in range(2 * count)]
            lines = ["y = F.pad(a0, %s, mode='%s')" % (tuple(pads), mode)]
    elif kind == "roll":
        dims = rng.sample(range(rank), rng.randint(0, rank))
        lines = ["y = torch.roll(a0, %s, %s)" % (tuple(rng.randint(-9, 9) for _ in dims),
                                                 tuple(dims))
                 if dims else "y = torch.roll(a0, %d)" % rng.randint(-9, 9)]
    elif kind == "flip":
        lines = ["y = a0.flip(%s)" % (tuple(rng.sample(range(rank), rng.randint(1, rank))),)]
    elif kind == "repeat":
        times = [rng.choice([1, 2, 3]) for _ in range(rank + rng.choice([0, 0, 1]))]
        lines = ["y = a0.%s(%s)" % (rng.choice(["repeat", "tile"]), tuple(times))]
    elif kind == "interleave":
        lines = ["y = a0.repeat_interleave(%d%s)" % (rng.randint(1, 4),
                                                     rng.choice(["", ", %d" % dim]))]
    elif kind == "transpose":
        order = tuple(rng.sample(range(rank), rank))
        lines = ["y = a0.permute(%s).contiguous()" % (order,)]
    elif kind == "tril":
        lines = ["y = torch.%s(a0, %d)" % (rng.choice(["tril", "triu"]), rng.randint(-6, 6))]
    elif kind == "index_select":
        inputs.append(Index((rng.choice(SIZES),), rng.choice(["int64", "int32"]),
                            high=shape[dim]))
        lines = ["y = a0.index_select(%d, a1)" % dim]
    elif kind == "gather":
        own = [rng.randint(1, n) for n in shape]
        own[dim] = rng.choice(SIZES)
        inputs.append(Index(tuple(own), "int64", high=shape[dim]))
        lines = ["y = a0.gather(%d, a1)" % dim]
    elif kind == "embedding":
        shape = (rng.choice(SIZES), rng.choice(SIZES))
        inputs = [Input(shape, rng.choice(REALS)),
                  Index(random_shape(rng, rng.randint(0, 3), 200), rng.choice(["int64", "int32"]),
                        high=shape[0])]
        lines = ["y = F.embedding(a1, a0%s)" % rng.choice(["", ", padding_idx=0"])]
    elif kind == "index":
        own = random_shape(rng, rng.randint(0, 2), 30)
        picks = []
        for n in shape:
            if rng.random() < 0.5:
                inputs.append(Index(own, "int64", low=-n, high=n))
                picks.append("a%d" % (len(inputs) - 1))
            else:
                picks.append(":")
        if len(inputs) == 1:
            inputs.append(Index(own, "int64", low=-shape[0], high=shape[0]))
            picks[0] = "a1"
        lines = ["y = a0[%s]" % ", ".join(picks)]
    elif kind == "slice":
        cut = []
        for n in shape:
            start = rng.randrange(n)
            cut.append(rng.choice([":", "%d" % start, "%d:" % start, "%d:%d" % (start, n),
                                   "::%d" % rng.randint(1, 3)]))
        lines = ["y = a0[%s].clone()" % ", ".join(cut)]
    elif kind == "unfold":
        size = rng.randint(1, shape[dim])
        lines = ["y = a0.unfold(%d, %d, %d)" % (dim, size, rng.randint(1, 3)), "y = y.clone()"]
    elif kind == "diagonal":
        dims = rng.sample(range(rank), 2)
        lines = ["y = a0.diagonal(%d, %d, %d).clone()" % (rng.randint(-2, 2), *dims)]
    elif kind == "where":
        inputs += [random_input(rng, shape, "bool"), random_input(rng, shape[dim:], dtype)]
        lines = [rng.choice(["y = torch.where(a1, a0, a2)", "y = a0.masked_fill(a1, 1)"])]
    elif kind == "shuffle":
        r = rng.choice([2, 3])
        n, c, h, w = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 5), rng.randint(1, 5)
        what = rng.choice(["pixel_shuffle", "pixel_unshuffle", "channel_shuffle"])
        shape = {"pixel_shuffle": (n, c * r * r, h, w), "pixel_unshuffle": (n, c, h * r, w * r),
                 "channel_shuffle": (n, c * r, h, w)}[what]
        # Strided operands keep their layout on one device only.
        inputs = [Input(tuple(shape), rng.choice(REALS))]
        lines = ["y = F.%s(a0, %d)" % (what, r)]
    real = real and inputs[0].dtype in REALS
    surrounded(rng, lines, inputs, dtype, real)
    return Fragment("%s%d" % (kind, index), "\n".join(lines), inputs, refused=True)


KINDS = ["cat", "cat", "stack", "pad", "pad", "roll", "flip", "repeat", "interleave", "transpose",
         "tril", "index_select", "gather", "embedding", "index", "slice", "unfold", "diagonal",
         "where", "shuffle"]


def random_window(rng, index):
    n = rng.randint(1, 3)
    kind = rng.choice(["avg", "avg", "max", "max", "adaptive", "upsample", "upsample", "im2col"])
    dtype = rng.choice(REALS)
    limit = {1: 40, 2: 14, 3: 7}[n]
    batch = rng.choice([(2, 3), (1, 1), (3, 2), (1, 4)])
    space = tuple(rng.randint(1, limit) for _ in range(n))
    each = lambda f: (lambda v: v[0] if rng.random() < 0.4 else tuple(v))(
        [f() for _ in range(n)] if rng.random() < 0.6 else [f()] * n)
    if kind in ("avg", "max") and rng.random() < 0.15:
        batch = batch[1:]
    if kind == "im2col":
        n, space = 2, tuple(rng.randint(2, 12) for _ in range(2))
    maker = Holes if kind == "max" and rng.random() < 0.3 else Input
    shape = batch + space
    # Other kernels lay out their results otherwise on a CPU than on a GPU.
    strided = rng.random() < 0.2 and kind in ("avg", "im2col")
    order = tuple(rng.sample(range(len(shape)), len(shape))) if strided else ()
    inputs = [maker(shape, dtype, order)]
    lines = []
    if kind == "avg":
        text = "kernel_size=%s, stride=%s, padding=%s, ceil_mode=%s, count_include_pad=%s" % (
            each(lambda: rng.randint(1, 4)), each(lambda: rng.randint(1, 3)),
            each(lambda: rng.randint(0, 1)), rng.random() < 0.5, rng.random() < 0.5)
        if n > 1 and rng.random() < 0.2:
            text += ", divisor_override=%d" % rng.randint(1, 9)
        lines = ["y = F.avg_pool%dd(a0, %s)" % (n, text)]
    elif kind == "max":
        text = "kernel_size=%s, stride=%s, padding=%s, dilation=%s, ceil_mode=%s" % (
            each(lambda: rng.randint(1, 4)), each(lambda: rng.randint(1, 3)),
            each(lambda: rng.randint(0, 1)), each(lambda: rng.randint(1, 2)), rng.random() < 0.5)
        if rng.random() < 0.3:
            lines = ["y, z = F.max_pool%dd(a0, %s, return_indices=True)" % (n, text),
                     "out = y, z"]
            return Fragment("max%d" % index, "\n".join(lines), inputs, refused=True)
        lines = ["y = F.max_pool%dd(a0, %s)" % (n, text)]
    elif kind == "adaptive":
        size = each(lambda: rng.randint(1, limit))
        lines = ["y = F.adaptive_%s_pool%dd(a0, %s)" % (rng.choice(["avg", "max"]), n, size)]
    elif kind == "upsample":
        mode = rng.choice(["nearest", "nearest-exact", {1: "linear", 2: "bilinear",
                                                         3: "trilinear"}[n], "area"]
                          + (["bicubic"] if n == 2 else []))
        text = "size=%s" % (each(lambda: rng.randint(1, 2 * limit)),) if rng.random() < 0.5 else \
            "scale_factor=%s" % (each(lambda: rng.choice([2.0, 3.0, 0.5, 1.7])),)
        if "near" not in mode and mode != "area":
            text += ", align_corners=%s" % rng.choice([True, False])
        lines = ["y = F.interpolate(a0, %s, mode='%s')" % (text, mode)]
    else:
        lines = ["y = F.unfold(a0, %d, dilation=%d, padding=%d, stride=%d)" % (
            rng.randint(1, 3), rng.randint(1, 2), rng.randint(0, 2), rng.randint(1, 3))]
    if maker is Input:
        surrounded(rng, lines, inputs, dtype, True)
    else:
        lines.append("out = y")
    return Fragment("%s%d" % (kind, index), "\n".join(lines), inputs, refused=True)


def runs_on_cpu(fragment):
    """Unrecordable when PyTorch has no such operator for the dtype, or rejects a parameter."""
    generator = torch.Generator().manual_seed(0)
    try:
        oracle.run_model(fragment.source(), [spec.make(generator) for spec in fragment.inputs])
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        raise oracle.Unrecordable(str(error)) from None


def main():
    parser = oracle.command_line(__doc__)
    parser.add_argument("--copies", type=int, default=0)
    parser.add_argument("--windows", type=int, default=0)
    parser.add_argument("--schedules", type=int, default=4)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    oracle.prepare()
    teacher = oracle.Teacher(options.emit, options.schedules)
    drawn = options.copies or options.windows
    rng = random.Random(options.seed)
    fragments = fixed_fragments() if not drawn else []
    fragments += [random_copy(rng, i) for i in range(options.copies)]
    fragments += [random_window(rng, i) for i in range(options.windows)]

    def attempt(fragment):
        runs_on_cpu(fragment)
        if options.compile:
            return oracle.check_compile(fragment, teacher)
        return oracle.check(fragment, teacher, options.seed, options.show)

    tally = oracle.try_all(fragments, options, attempt)
    for fragment, why in tally.skipped if not drawn else []:
        print("not PyTorch: %s: %s" % (fragment.name, why))
    for fragment in tally.refused:
        print("refused: %s: %s" % (fragment.name, fragment.body.replace("\n", "; ")))
    print("%d fragments, %d schedules, %d refused, %d not PyTorch, %d failures" % (
        len(fragments), sum(tally.tried), len(tally.refused), len(tally.skipped), tally.failures))
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
