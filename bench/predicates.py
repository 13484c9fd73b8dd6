#!/usr/bin/env python3
"""Whether compiled kernels read where they should, by how a transposed convolution says which taps reach a position.

    bench/predicates.py --out bench/h100/predicates.json [--seconds 60] [--seed 1] [--processes 8]

Result o gets tap k of input position i where i * stride + k * dilation = o + padding. Each drawn convolution is
written once for each form of that condition; all are the same in exact arithmetic, and one that is compiled wrongly
is far off PyTorch's in float64. The input stands amid NaN, so that what is read beside it shows.
"""

import argparse
import collections
import concurrent.futures
import importlib.util
import json
import multiprocessing
import pathlib
import random
import tempfile
import time

# The input position and the condition, with m = o + padding, t = k * dilation and s = stride.
FORMS = {
    "remainder of the difference": ("({m} - {t}) // {s}", "({m} - {t} >= 0) & (({m} - {t}) % {s} == 0)"),
    "remainders of both": ("{m} // {s} - {t} // {s}", "{m} - {m} // {s} * {s} == {t} % {s}"),
    "quotients of both": ("{m} // {s} - {t} // {s}", "{i} * {s} + {t} == {m}"),
    "quotient of floats": ("(({m} - {t} + 0.5) * (1.0 / {s})).to(tl.int32)", "{i} * {s} == {m} - {t}"),
}
WRONG = 1e-5  # relative RMS error; float32 sums of 25 terms are off by less than 1e-6

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, w_ptr, y_ptr, n_rows: tl.constexpr, n_cols: tl.constexpr, filters: tl.constexpr,
           groups: tl.constexpr, in_0: tl.constexpr, in_1: tl.constexpr, out_1: tl.constexpr,
           BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr, K0: tl.constexpr, K1: tl.constexpr):
    tiles = tl.cdiv(n_cols, BLOCK_C)
    rows = ((tl.program_id(0) // tiles) * BLOCK_R + tl.arange(0, BLOCK_R))[:, None]
    cols = ((tl.program_id(0) %% tiles) * BLOCK_C + tl.arange(0, BLOCK_C))[None, :]
    row_mask = rows < n_rows
    col_mask = cols < n_cols
    o_1 = cols %% out_1
    o_0 = cols // out_1
    acc = tl.zeros((BLOCK_R, BLOCK_C), tl.float32)
    for k_0 in tl.static_range(K0):
        for k_1 in tl.static_range(K1):
%s
            x = tl.load(x_ptr + rows // filters * (in_0 * in_1) + i_0 * in_1 + i_1,
                        mask=row_mask & col_mask & inside_0 & inside_1, other=0.0)
            w = tl.load(w_ptr + rows %% (groups * filters) * (K0 * K1) + k_0 * K1 + k_1, mask=row_mask, other=0.0)
            acc += x * w
    tl.store(y_ptr + rows * n_cols + cols, acc, mask=row_mask & col_mask)
"""


def source(form, conv):
    lines = []
    for d in range(2):
        names = {"m": "m_%d" % d, "i": "i_%d" % d, "s": conv["stride"][d], "t": "k_%d * %d" % (d, conv["dilation"][d])}
        position, condition = (text.format(**names) for text in FORMS[form])
        lines += ["m_%d = o_%d + %d" % (d, d, conv["padding"][d]), "i_%d = %s" % (d, position),
                  "inside_%d = (i_%d >= 0) & (%s) & (i_%d < in_%d)" % (d, d, condition, d, d)]
    return KERNEL % "\n".join(" " * 12 + line for line in lines)


def drawn(rng):
    while True:
        pair = lambda *choices: [rng.choice(choices) for _ in range(2)]  # noqa: E731
        conv = {"stride": pair(2, 3, 3, 4, 5, 6, 7), "dilation": pair(1, 2, 3), "padding": pair(0, 1, 2, 3),
                "kernel": pair(1, 2, 3, 4, 5), "image": [rng.randint(2, 20), rng.randint(2, 40)],
                "batch": rng.choice([1, 2, 5]), "groups": rng.randint(1, 5), "filters": rng.choice([1, 3, 8, 18]),
                "blocks": rng.choice([(2, 64, 4), (32, 64, 8), (32, 64, 4), (16, 128, 8), (8, 32, 4), (4, 256, 8)])}
        if all(size > 0 for size in out_sizes(conv)):
            return conv


def out_sizes(conv):
    return [(size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, d, k in
            zip(conv["image"], conv["stride"], conv["padding"], conv["dilation"], conv["kernel"])]


def judge(number, conv):
    """The relative RMS error of each form."""
    import torch
    import triton
    generator = torch.Generator().manual_seed(number)
    image = torch.randn(conv["batch"], conv["groups"], *conv["image"], generator=generator)
    weight = torch.randn(conv["groups"], conv["filters"], *conv["kernel"], generator=generator)
    exact = torch.nn.functional.conv_transpose2d(
        image.double(), weight.double(), stride=conv["stride"], padding=conv["padding"], dilation=conv["dilation"],
        groups=conv["groups"])
    around = torch.full((1 << 24,), float("nan"), device="cuda")
    x = around[1 << 23:][:image.numel()].copy_(image.flatten())
    rows, cols = exact.shape[0] * exact.shape[1], exact.shape[2] * exact.shape[3]
    block_r, block_c, warps = conv["blocks"]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMS:
            path = pathlib.Path(folder) / ("form_%d.py" % len(found))
            path.write_text(source(form, conv))
            spec = importlib.util.spec_from_file_location("form_%d_%d" % (number, len(found)), path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            y = torch.full(exact.shape, float("nan"), device="cuda")
            module.kernel[(triton.cdiv(rows, block_r) * triton.cdiv(cols, block_c),)](
                x, weight.cuda(), y, rows, cols, conv["filters"], conv["groups"], *conv["image"], exact.shape[3],
                block_r, block_c, *conv["kernel"], num_warps=warps)
            found[form] = ((y.cpu().double() - exact).norm() / exact.norm().clamp_min(1e-9)).item()
    return number, conv, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=8)
    args = parser.parse_args()
    rng, start, wrong, cases = random.Random(args.seed), time.monotonic(), collections.Counter(), 0
    examples = []
    with concurrent.futures.ProcessPoolExecutor(args.processes, multiprocessing.get_context("spawn")) as pool:
        pending = {pool.submit(judge, n, drawn(rng)) for n in range(2 * args.processes)}
        while pending:
            done, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
            for one in done:
                number, conv, found = one.result()
                cases += 1
                if time.monotonic() - start < args.seconds:
                    pending.add(pool.submit(judge, cases + 2 * args.processes, drawn(rng)))
                forms = [form for form, error in found.items() if not error < WRONG]
                wrong.update(forms)
                if forms:
                    examples.append({"number": number, **conv, "wrong": forms})
    import torch
    import triton
    result = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": triton.__version__,
              "command": "bench/predicates.py --seconds %g --seed %d" % (args.seconds, args.seed), "convolutions": cases,
              "wrong": {form: wrong[form] for form in FORMS}, "examples": examples}
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({key: result[key] for key in ("convolutions", "wrong")}))


if __name__ == "__main__":
    main()
