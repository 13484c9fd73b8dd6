"""Convolutions and products of the teacher against PyTorch, as tests/teacher_oracle.py does it: one
schedule of each form that is offered (precision, walk of K, copies, splits, direct sum).

    python tests/teacher_convolutions.py --emit build/teacher_emit [--random 100] [--only NAME]
    python tests/teacher_convolutions.py --emit build/teacher_emit --large    # compile for sm_90
"""

import random
import re
import sys
import traceback
from collections import Counter

import torch

import teacher_oracle as oracle
from refusal import Refused
from teacher_oracle import Fragment, Input

ALL_SCHEDULES = 1000


def form(plan):
    """What kind of kernel a plan is, without its tile sizes."""
    family = re.search(r"family: (\w+)", plan).group(1)
    tiling = re.search(r"tiling: ([^;]*)", plan).group(1)
    return family, tiling[:tiling.find("BLOCK")].rstrip(", "), \
        "SPLITS" in tiling


def one_of_each(proposals, rng):
    forms = {}
    for proposal in proposals:
        forms.setdefault(form(proposal["plan"]), []).append(proposal)
    return [rng.choice(group) for group in forms.values()]


def check(fragment, teacher, seed, limit=None, show=False, only=""):
    """(forms tried, complaints) as oracle.check; of those forms alone whose plans say `only`."""
    generator = torch.Generator().manual_seed(seed)
    tensors = [spec.make(generator) for spec in fragment.inputs]
    source = fragment.source()
    reply = oracle.record(source, "Model", tensors, teacher.operators)
    answer = teacher.propose(oracle.as_fragment(reply["task"]))
    if not answer["proposals"]:
        return [], [] if fragment.refused else [("", "", "refused: %s" % answer["refusal"])]
    eager = oracle.laid_out(oracle.run_model(source, tensors), reply["task"]["forward"])
    wide = oracle.run_model(oracle.wide_source(source), oracle.widened(tensors))
    chosen = one_of_each([p for p in answer["proposals"] if only in p["plan"]], random.Random(seed))
    if limit is not None:
        chosen = random.Random(seed).sample(chosen, min(limit, len(chosen)))
    complaints = []
    for proposal in chosen:
        if show:
            print(proposal["plan"] + "\n" + proposal["source"])
        try:
            got = oracle.run_candidate(proposal["source"], tensors, teacher.operators)
            complaint = compare(got, eager, wide, '"tf32"' in proposal["source"])
        except (Exception, Refused):
            complaint = traceback.format_exc(limit=-4)
        if complaint:
            complaints.append((proposal["plan"], proposal["source"], complaint))
    return [form(p["plan"]) for p in chosen], complaints


def compare(got, eager, wide, truncated):
    if not truncated:
        return oracle.compare(got, eager, wide)
    # TF32 keeps 10 bits of each operand.
    for i, (g, e, o) in enumerate(zip(*map(oracle.flatten, (got, eager, wide)))):
        rms, worst = oracle.error_of(g, o)
        same = (g.shape, g.dtype, g.stride()) == (e.shape, e.dtype, e.stride())
        if not (same and rms < 4e-3 and worst < 3e-2):
            return "out%d %s: rms error %.3g, worst %.3g" % (i, g.stride(), rms, worst)
    return None


LAST = {3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


def fixed_fragments():
    I, F = Input, Fragment
    x, w = I((2, 5, 7, 9)), I((6, 5, 3, 3))
    deep, deep_w = I((2, 24, 6, 7)), I((20, 24, 3, 3))
    out = [
        F("conv2d", "out = F.conv2d(a0, a1, a2, padding=1)", [x, w, I((6,))]),
        F("conv2d_deep", "out = F.relu(F.conv2d(a0, a1, a2, padding=1))",
          [deep, I((40, 24, 3, 3)), I((40,))]),
        F("conv2d_stride", "out = F.conv2d(a0, a1, None, (2, 1), (0, 2), (1, 2))", [deep, deep_w]),
        F("conv2d_point", "out = F.silu(F.conv2d(a0, a1, a2))",
          [deep, I((20, 24, 1, 1)), I((20,))]),
        F("conv2d_unbatched", "out = F.conv2d(a0, a1)", [I((5, 7, 9)), w]),
        F("conv2d_same", "out = F.conv2d(a0, a1, padding='same')", [x, w]),
        F("conv2d_whole_window", "out = F.conv2d(a0, a1)", [x, I((6, 5, 7, 9))]),
        F("conv2d_thin", "out = F.conv2d(a0, a1, padding=(1, 0))", [I((2, 8, 1, 9)), I((6, 8, 3, 3))]),
        F("conv1d", "out = F.conv1d(a0, a1, a2, 2, 3, 2)",
          [I((3, 16, 40)), I((18, 16, 5)), I((18,))]),
        F("conv1d_valid", "out = F.conv1d(a0, a1, padding='valid')", [I((4, 10)), I((6, 4, 4))]),
        F("conv3d", "out = F.conv3d(a0, a1, a2, (1, 2, 1), (1, 0, 1))",
          [I((2, 8, 4, 5, 6)), I((17, 8, 3, 2, 3)), I((17,))]),
        F("groups", "out = F.conv2d(a0, a1, a2, padding=1, groups=3)",
          [I((2, 24, 6, 7)), I((48, 8, 3, 3)), I((48,))]),
        F("depthwise", "out = F.relu6(F.conv2d(a0, a1, a2, padding=1, groups=12))",
          [I((2, 12, 7, 9)), I((12, 1, 3, 3)), I((12,))]),
        F("depthwise_multiplier", "out = F.conv2d(a0, a1, None, 2, 2, groups=6)",
          [I((2, 6, 9, 9)), I((12, 1, 5, 5))]),
        F("channels_last", "y = F.relu(F.conv2d(a0, a1, a2, padding=1))\n"
          "out = y.contiguous(memory_format=torch.channels_last)",
          [I((2, 24, 6, 7), order=LAST[4]), I((20, 24, 3, 3), order=LAST[4]), I((20,))]),
        F("depthwise_last", "y = F.relu(F.conv2d(a0, a1, a2, 2, 1, groups=12))\n"
          "out = y.contiguous(memory_format=torch.channels_last)",
          [I((2, 12, 7, 9), order=LAST[4]), I((12, 1, 3, 3)), I((12,))]),
        F("one_channel", "out = F.conv2d(a0, a1, a2, padding=2)",
          [I((2, 1, 9, 8)), I((17, 1, 5, 5)), I((17,))]),
        F("one_result", "out = F.conv2d(a0, a1, a2)", [I((1, 24, 3, 3)), I((17, 24, 3, 3)), I((17,))]),
        F("one_number", "out = F.conv2d(a0, a1)", [I((2, 3, 3, 3)), I((1, 3, 3, 3))]),
        F("one_filter", "out = torch.sigmoid(F.conv2d(a0, a1, a2, padding=1))",
          [deep, I((1, 24, 3, 3)), I((1,))]),
        F("padded_input", "out = F.conv2d(F.pad(a0, (0, 1, 2, 1), value=0.5), a1, padding=1)",
          [deep, deep_w]),
        F("twice_the_weight", "out = F.conv2d(a0, a1) * a1.mean()", [deep, deep_w], refused=True),
        F("residual", "out = F.relu(F.conv2d(F.relu(a0), a1, a2, padding=1) + a0)",
          [deep, I((24, 24, 3, 3)), I((24,))]),
        F("prologue", "out = F.conv2d(torch.sigmoid(a0) + 1, a1, padding=1)", [deep, deep_w]),
        F("batch_norm", "y = F.batch_norm(F.conv2d(a0, a1, padding=1), a2, a3, a4, a5, False)\n"
          "out = F.silu(y)", [deep, deep_w, I((20,)), I((20,), positive=True), I((20,)), I((20,))]),
        F("norm_first", "y = F.relu(F.batch_norm(a0, a2, a3, a4, a5, False))\n"
          "out = F.conv2d(y, a1, padding=1)",
          [deep, deep_w, I((24,)), I((24,), positive=True), I((24,)), I((24,))]),
        F("weight_scaled", "out = F.conv2d(a0, a1 * a2[:, None, None, None] * 0.5, padding=1)",
          [deep, deep_w, I((20,))]),
        F("glu", "out = F.glu(F.conv2d(a0, a1, a2, padding=1), 1)", [deep, deep_w, I((20,))]),
        F("half", "out = F.relu(F.conv2d(a0, a1, a2, padding=1))",
          [I((2, 24, 6, 7), "float16"), I((20, 24, 3, 3), "float16"), I((20,), "float16")]),
        F("bfloat", "out = F.conv2d(a0 * 0.5, a1, a2, stride=2)",
          [I((2, 24, 6, 7), "bfloat16"), I((20, 24, 3, 3), "bfloat16"), I((20,), "bfloat16")]),
        F("fp64", "out = F.conv2d(a0, a1, padding=1)",
          [I((2, 4, 6, 7), "float64"), I((3, 4, 3, 3), "float64")]),
        F("deep_reduction", "out = F.relu(F.conv2d(a0, a1, a2, padding=1))",
          [I((1, 128, 3, 3)), I((17, 128, 3, 3)), I((17,))]),
        F("shuffled", "out = F.pixel_shuffle(F.conv2d(a0, a1, padding=1), 2)", [deep, deep_w],
          refused=True),
        F("transposed", "out = F.conv_transpose2d(a0, a1, a2, 2, 1, 1)",
          [deep, I((24, 40, 3, 3)), I((40,))]),
        F("transposed_plain", "out = F.conv_transpose2d(a0, a1, a2, padding=1)",
          [deep, I((24, 20, 3, 3)), I((20,))]),
        F("transposed1d", "out = torch.tanh(F.conv_transpose1d(a0, a1, a2, 3, 2, 1, 1, 2))",
          [I((2, 16, 9)), I((16, 18, 4)), I((18,))]),
        F("transposed3d", "out = F.conv_transpose3d(a0, a1, None, (2, 1, 2), 1)",
          [I((2, 8, 3, 4, 3)), I((8, 17, 3, 3, 2))]),
        F("transposed_groups", "out = F.conv_transpose2d(a0, a1, a2, 2, 0, 0, 2)",
          [I((2, 16, 4, 5)), I((16, 9, 2, 2)), I((18,))]),
        F("transposed_gaps", "out = F.conv_transpose2d(a0, a1, a2, 4, 0, 2, 1, 2)",
          [I((2, 16, 3, 4)), I((16, 18, 2, 3)), I((18,))]),
    ]
    out += [  # sizes of results that make long lines
        F("long_sizes", "out = F.conv3d(F.silu(a0), a1, a2, (2, 3, 1), (0, 1, 0), (1, 2, 1))",
          [I((3, 4, 4, 2, 2)), I((2, 4, 1, 1, 1)), I((2,))]),
        F("long_sizes_deep", "out = F.conv3d(a0, a1, a2, (2, 3, 1), (2, 1, 0), (1, 2, 1))",
          [I((2, 24, 5, 6, 7), order=LAST[5]), I((18, 24, 3, 2, 1)), I((18,))])]
    return out + unit_fragments() + product_fragments()


def unit_fragments():
    """Dimensions of size 1, whose strides say nothing and are recorded all the same."""
    I, F, last = Input, Fragment, LAST[4]
    x, image = I((6, 24, 1, 1), order=last), I((3, 24, 4, 4), order=last)
    return [
        F("unit_image", "out = F.conv2d(a0, a1)", [x, I((18, 24, 1, 1))]),
        F("unit_result", "out = F.relu(F.conv2d(a0, a1))", [image, I((18, 24, 4, 4), order=last)]),
        F("unit_channel", "out = F.conv2d(a0, a1)", [image, I((1, 24, 2, 2))]),
        F("unit_batch", "out = F.conv2d(a0, a1)", [I((1, 24, 5, 5), order=last), I((20, 24, 2, 2))]),
        F("unit_transposed", "out = F.conv_transpose2d(a0, a1)", [x, I((24, 20, 1, 1))]),
        F("unit_row", "out = F.linear(a0, a1)", [I((1, 24)), I((33, 24))]),
        F("unit_column", "out = a0 @ a1", [I((33, 24), order=(1, 0)), I((24, 1))]),
        F("unit_products", "out = (a0 @ a1).transpose(0, 1)",
          [I((3, 1, 24)), I((3, 24, 20), order=(0, 2, 1))])]


def product_fragments():
    """Matrix products whose contracted range is split, and those that whole rows follow."""
    I, F = Input, Fragment
    return [
        F("tall", "out = F.relu(a0 @ a1 + a2)", [I((20, 900)), I((900, 33)), I((33,))]),
        F("tall_batches", "out = torch.bmm(a0, a1) * 2",
          [I((2, 20, 700), "bfloat16"), I((2, 700, 33), "bfloat16")]),
        F("tall_pair", "out = F.silu(F.linear(a0, a1)) * F.linear(a0, a2)",
          [I((20, 800)), I((37, 800)), I((37, 800))]),
        F("dot", "out = torch.dot(a0, a1) * 2", [I((45,)), I((45,))]),
        F("conjugated_dot", "out = torch.vdot(a0, a1) * 2", [I((45,)), I((45,))]),
        F("added_vector", "out = torch.addmv(a0, a1, a2, beta=0.5, alpha=2)",
          [I((33,)), I((33, 45)), I((45,))]),
        F("linear_softmax", "out = torch.softmax(F.linear(a0, a1, a2), -1)",
          [I((70, 45)), I((37, 45)), I((37,))]),
        F("linear_layer_norm", "out = F.layer_norm(F.linear(a0, a1) + a2, (37,), a3, a4)",
          [I((70, 45)), I((37, 45)), I((70, 37)), I((37,)), I((37,))]),
        F("linear_logsumexp", "y = F.linear(a0, a1)\nout = torch.logsumexp(y, -1), y",
          [I((2, 30, 600)), I((37, 600))]),
        F("linear_argmax", "out = F.linear(a0, a1).argmax(-1)", [I((70, 45)), I((37, 45))]),
        F("scores_softmax", "out = torch.softmax((a0 @ a1.transpose(-1, -2)) * 0.3, -1)",
          [I((2, 3, 17, 20)), I((2, 3, 35, 20))]),
        F("linear_too_wide", "out = torch.softmax(F.linear(a0, a1), -1)",
          [I((33, 16)), I((5000, 16))], refused=True),
    ]


def large_fragments():
    """One of the size that a GPU is for, of each sort: only compiled."""
    I, F = Input, Fragment
    x, w, b = (32, 128, 56, 56), (128, 128, 3, 3), (128,)
    last = LAST[4]
    return [
        F("large_conv", "out = F.relu(F.conv2d(a0, a1, a2, padding=1))", [I(x), I(w), I(b)]),
        F("large_conv_last", "out = F.relu(F.conv2d(a0, a1, a2, padding=1))",
          [I(x, order=last), I(w, order=last), I(b)]),
        F("large_conv_bfloat", "out = F.relu(F.conv2d(a0, a1, a2, padding=1))",
          [I(x, "bfloat16"), I(w, "bfloat16"), I(b, "bfloat16")]),
        F("large_stem", "out = F.relu(F.conv2d(a0, a1, a2, 2, 3))",
          [I((64, 3, 224, 224)), I((64, 3, 7, 7)), I((64,))]),
        F("large_depthwise", "out = F.relu6(F.conv2d(a0, a1, a2, padding=1, groups=144))",
          [I((32, 144, 56, 56)), I((144, 1, 3, 3)), I((144,))]),
        F("large_late", "out = F.relu(F.conv2d(a0, a1, a2, padding=1) + a3)",
          [I((4, 512, 7, 7)), I((512, 512, 3, 3)), I((512,)), I((4, 512, 7, 7))]),
        F("large_transposed", "out = F.relu(F.conv_transpose2d(a0, a1, a2, 2, 1, 1))",
          [I((16, 128, 32, 32)), I((128, 64, 3, 3)), I((64,))]),
    ]


def random_convolution(rng, index):
    """Every parameter at random, small; often a prologue, an epilogue, other layouts and dtypes."""
    rank = rng.choice([1, 2, 2, 2, 3])
    transposed = rng.random() < 0.4
    groups = rng.choice([1, 1, 1, 2, 3])
    depthwise = rng.random() < 0.15
    channel, filters = rng.choice([1, 3, 4, 8, 17, 24]), rng.choice([1, 2, 5, 16, 18, 33])
    if depthwise:
        groups, channel, filters = rng.choice([4, 12, 19]), 1, rng.choice([1, 1, 2])
    limit = {1: 40, 2: 10, 3: 5}[rank]

    def each(options):
        return [rng.choice(options) for _ in range(rank)]

    stride, dilation = each([1, 1, 2, 3]), each([1, 1, 2, 3])
    kernel = each([1, 2, 3, 3, 4 if rank < 3 else 2])
    padding = [rng.randint(0, d * (k - 1)) if k > 1 else rng.choice([0, 0, 1])
               for k, d in zip(kernel, dilation)]
    size = [rng.randint(max(1, d * (k - 1) + 1 - 2 * p), max(limit, d * (k - 1) + 1))
            if not transposed else rng.randint(1, limit)
            for k, d, p in zip(kernel, dilation, padding)]
    if transposed:  # some of it must be left
        padding = [min(p, ((n - 1) * s + d * (k - 1)) // 2)
                   for p, n, s, d, k in zip(padding, size, stride, dilation, kernel)]
    dtype = rng.choice(["float32"] * 3 + ["float16", "bfloat16", "float64"])
    batch = rng.choice([1, 2, 3])
    x = (batch, groups * channel, *size)
    w = ((groups * channel, filters) if transposed else (groups * filters, channel)) + tuple(kernel)
    last = LAST[rank + 2]
    inputs = [Input(x, dtype, last if rng.random() < 0.3 else ()),
              Input(w, dtype, last if rng.random() < 0.3 else ()), Input((groups * filters,), dtype)]
    arguments = "stride=%r, padding=%r, dilation=%r, groups=%d" % (
        tuple(stride), tuple(padding), tuple(dilation), groups)
    if transposed:
        arguments += ", output_padding=%r" % (tuple(
            rng.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation)),)
    elif rng.random() < 0.1:
        arguments = "padding=%r, groups=%d" % (rng.choice(["same", "valid"]), groups)
    prologue = rng.choice(["a0"] * 3 + ["F.silu(a0)", "(a0 + 0.5)", "a0.mul(0.5)"])
    weight = rng.choice(["a1"] * 5 + ["(a1 * 0.5)"])
    lines = ["y = F.conv%s%dd(%s, %s, %s, %s)" % ("_transpose" if transposed else "", rank, prologue,
                                                  weight, rng.choice(["None", "a2"]), arguments)]
    vector = "a2.view(%s)" % ", ".join(["-1"] + ["1"] * rank)
    for _ in range(rng.randint(0, 2)):
        lines.append("y = " + rng.choice(oracle.UNARY + ["{} * " + vector]).format("y"))
    lines.append(rng.choice(["out = y", "out = y + " + vector, "out = y, y * 2"]))
    return Fragment("convolution%d" % index, "\n".join(lines), inputs)


def main():
    parser = oracle.command_line(__doc__)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--large", action="store_true", help="compile large ones for sm_90")
    parser.add_argument("--schedules", type=int, default=6, help="of each, with --large")
    options = parser.parse_args()
    oracle.prepare()
    teacher = oracle.Teacher(options.emit, options.schedules if options.large else ALL_SCHEDULES)
    fragments = large_fragments() if options.large else fixed_fragments()
    if options.random:
        fragments = [random_convolution(random.Random("%d/%d" % (options.seed, i)), i)
                     for i in range(options.random)]

    def attempt(fragment):
        if options.large:
            return [], oracle.check_compile(fragment, teacher)[1]
        return check(fragment, teacher, options.seed, show=options.show)

    tally = oracle.try_all(fragments, options, attempt)
    for fragment, why in tally.skipped:
        print("skipped %s: %s" % (fragment.name, why))
    for name, count in sorted(Counter(form for forms in tally.tried for form in forms).items()):
        print("%4d %s" % (count, name))
    print("%d fragments, %d failures, %d not recorded" % (
        len(fragments), tally.failures, len(tally.skipped)))
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
