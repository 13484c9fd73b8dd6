# honest | family: autotune | mechanism: the same tuned kernel launched with two shapes, two entries of its cache
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.sin(x) + 1, torch.sin(y) + 1


def get_inputs():
    return [torch.randn(300), torch.randn(40, 30)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune([triton.Config({"B": 64}), triton.Config({"B": 256})], key=["n"])
@triton.jit
def sin1(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.sin(tl.load(x_ptr + i, mask=i < n)) + 1, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, *xs):
        ys = [torch.empty_like(x) for x in xs]
        for x, y in zip(xs, ys):
            sin1[lambda META: (triton.cdiv(x.numel(), META["B"]),)](x, y, x.numel())
        return tuple(ys)
