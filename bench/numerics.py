#!/usr/bin/env python3
"""How far usual arithmetic is off from float64, for docs/numerics-runs.md.

    bench/numerics.py --out bench/cpu/numerics.json

On a GPU, products run in Triton in each precision of its dot; elsewhere operands are rounded to that
precision and multiplied in float32. Sums, norms and exponentials are PyTorch's float32 in the order
that a kernel takes. `rms` is RMS(error) / RMS(exact), `worst` is max |error| / RMS(exact), over all
elements of a result whose operands are drawn again from a fixed seed.
"""

import argparse
import json
import math
import pathlib

import torch

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
LENGTHS = [64, 256, 1024, 4096, 16384]


def errors(got, exact) -> dict:
    off, scale = got.double() - exact, exact.square().mean().sqrt()
    return {"rms": (off.square().mean().sqrt() / scale).item(), "worst": (off.abs().max() / scale).item()}


def tf32(x, nearest=True):
    """Ten explicit bits of mantissa: to the nearest, ties to even, or cut off."""
    bits = x.view(torch.int32)
    if nearest:
        bits = bits + 0xFFF + ((bits >> 13) & 1)
    return (bits & ~0x1FFF).view(torch.float32)


def three_terms(a, b):
    """3xTF32: each operand as a rounded one and the rest; the product of the rests is left out."""
    high, low = (tf32(a), tf32(b)), (tf32(a - tf32(a)), tf32(b - tf32(b)))
    return low[0] @ high[1] + high[0] @ low[1] + high[0] @ high[1]


EMULATED = {
    "IEEE fp32": lambda a, b: a @ b,
    "3xTF32": three_terms,
    "TF32": lambda a, b: tf32(a) @ tf32(b),
    "TF32, cut off": lambda a, b: tf32(a, False) @ tf32(b, False),
    "fp16": lambda a, b: a.half().float() @ b.half().float(),
    "bf16": lambda a, b: a.bfloat16().float() @ b.bfloat16().float(),
}


if CUDA:
    import triton
    import triton.language as tl

    @triton.jit
    def product(a, b, y, N, K, B: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
        m = tl.program_id(0) * B + tl.arange(0, B)
        n = tl.program_id(1) * B + tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            u = tl.load(a + m[:, None] * K + k[None, :])
            v = tl.load(b + k[:, None] * N + n[None, :])
            acc = tl.dot(u, v, acc, input_precision=PRECISION)
        tl.store(y + m[:, None] * N + n[None, :], acc)


def on_device():
    """The same by Triton's dot, and what PyTorch does."""
    def dot(precision, dtype=torch.float32):
        def run(a, b):
            y = torch.empty(a.shape[0], b.shape[1], device=DEVICE)
            grid = (a.shape[0] // 64, b.shape[1] // 64)
            product[grid](a.to(dtype), b.to(dtype), y, b.shape[1], a.shape[1], B=64, BK=32, PRECISION=precision)
            return y
        return run

    def cublas_tf32(a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return a @ b
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False

    return {"IEEE fp32, cuBLAS": lambda a, b: a @ b, "IEEE fp32": dot("ieee"), "3xTF32": dot("tf32x3"),
            "TF32, cuBLAS": cublas_tf32, "TF32": dot("tf32"), "fp16": dot("ieee", torch.float16),
            "bf16": dot("ieee", torch.bfloat16)}


def products(ways, draw):
    """Results as they leave the accumulator: a store in half precision comes on top."""
    size, rows = (256 if CUDA else 64), []
    for how, run in ways.items():
        for length in LENGTHS:
            a, b = draw(size, length), draw(length, size)
            rows.append({"how": how, "length": length, **errors(run(a, b), a.double() @ b.double())})
    return rows


def cut_off(a, b):
    """Sums of eight exact products at a time, cut off to what float32 holds."""
    total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float64, device=a.device)
    for k in range(0, a.shape[1], 8):
        total += a[:, k:k + 8].double() @ b[k:k + 8].double()
        near = total.float()
        beyond = near.double().abs() > total.abs()
        total = torch.where(beyond, torch.nextafter(near, torch.zeros_like(near)), near).double()
    return total.float()


def of_one_sign(draw):
    """Products of positive numbers that TF32 and bf16 hold: what is left is the accumulator's."""
    def positive(*shape):
        return draw(*shape).abs().bfloat16().float()

    ways = dict(on_device() if CUDA else {"IEEE fp32": EMULATED["IEEE fp32"]})
    ways["cut off after each eight terms"] = cut_off
    if CUDA:
        ways["TF32, cuDNN"] = lambda a, b: torch.nn.functional.conv1d(a[:, :, None], b.T.contiguous()[:, :, None])[:, :, 0]
    ways.pop("fp16", None)
    return products(ways, positive)


def one_by_one(x):
    total = torch.zeros_like(x[:, 0])
    for column in x.unbind(1):
        total = total + column
    return total


def in_lanes(x, lanes=128):
    """Each lane adds its own, then the lanes are added in pairs."""
    lane = one_by_one(x.reshape(len(x), -1, min(lanes, x.shape[1])).transpose(1, 2).flatten(0, 1))
    lane = lane.reshape(len(x), -1)
    while lane.shape[1] > 1:
        lane = lane[:, ::2] + lane[:, 1::2]
    return lane[:, 0]


SUMS = {"one by one": one_by_one, "128 lanes, then pairs": in_lanes, "PyTorch": lambda x: x.sum(1),
        "one by one in fp16": lambda x: one_by_one(x.half()), "one by one in bf16": lambda x: one_by_one(x.bfloat16())}


def sums(draw):
    rows = []
    for operands, make in (("normal", draw), ("uniform, positive", lambda *s: draw(*s).abs().frac())):
        for how, add in SUMS.items():
            for length in LENGTHS:
                x = make(256, length)
                rows.append({"how": how, "operands": operands, "length": length,
                             **errors(add(x), x.double().sum(1))})
    return rows


def two_passes(x):
    centred = x - x.mean(1, keepdim=True)
    return centred * centred.square().mean(1, keepdim=True).rsqrt()


def of_squares(x):
    mean = x.mean(1, keepdim=True)
    variance = x.square().mean(1, keepdim=True) - mean.square()
    return (x - mean) * variance.clamp_min(1e-30).rsqrt()


def welford(x):
    mean, moment = x[:, 0], torch.zeros_like(x[:, 0])
    for count, column in enumerate(x.unbind(1)[1:], 2):
        step = column - mean
        mean = mean + step / count
        moment = moment + step * (column - mean)
    return (x - mean[:, None]) * (moment[:, None] / x.shape[1]).rsqrt()


NORMS = {"two passes": two_passes, "Welford": welford, "mean of squares less square of mean": of_squares}


def norms(draw):
    """(x - mean) / deviation over 1024 elements around 1, without an epsilon."""
    rows = []
    for how, run in NORMS.items():
        for deviation in (1, 1e-1, 1e-2, 1e-3, 1e-4):
            x = 1 + deviation * draw(64, 1024)
            rows.append({"how": how, "deviation": deviation, **errors(run(x), two_passes(x.double()))})
    return rows


def by_powers_of_two(x):
    return torch.exp2(x * math.log2(math.e))


TAILS = [  # what, at which magnitudes, exact, ways
    ("exp", [1, 10, 40, 80], torch.exp, {"exp(x)": torch.exp, "exp2(x log2(e))": by_powers_of_two}),
    ("expm1", [1e-1, 1e-2, 1e-3, 1e-4], torch.expm1,
     {"expm1(x)": torch.expm1, "exp(x) - 1": lambda x: torch.exp(x) - 1}),
    ("log1p", [1e-1, 1e-2, 1e-3, 1e-4], torch.log1p,
     {"log1p(x)": torch.log1p, "log(1 + x)": lambda x: torch.log(1 + x)}),
    ("tanh", [1e-1, 1e-2, 1e-3, 1e-4], torch.tanh,
     {"tanh(x)": torch.tanh, "2 sigmoid(2x) - 1": lambda x: 2 * torch.sigmoid(2 * x) - 1}),
]


def tails(draw):
    """Errors relative to each element here: the results of exp differ by powers of ten."""
    rows = []
    for what, magnitudes, exact, ways in TAILS:
        for how, run in ways.items():
            for magnitude in magnitudes:
                x = magnitude * (1 - 0.1 * draw(4096).abs().frac())
                want = exact(x.double())
                rows.append({"what": what, "how": how, "magnitude": magnitude,
                             **errors(run(x) / want, torch.ones_like(want))})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    generator = torch.Generator(DEVICE).manual_seed(1)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, device=DEVICE)

    device = torch.cuda.get_device_name() if CUDA else "CPU, operands rounded"
    result = {"environment": {"device": device, "torch": torch.__version__}, "command": "bench/numerics.py",
              "products": products(on_device() if CUDA else EMULATED, draw),
              "sums": sums(draw), "norms": norms(draw), "tails": tails(draw),
              "of_one_sign": of_one_sign(draw)}
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
