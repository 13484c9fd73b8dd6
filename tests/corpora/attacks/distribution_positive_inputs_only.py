# program wrong | family: distribution | mechanism: inputs come from rand, and the branch for negative ones is left out | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x):
        return self.act(x) + x * x


def get_inputs():
    return [torch.rand(6, 9, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky_plus_square(src, dst, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(src + i, mask=i < total)
    tl.store(dst + i, v + v * v, mask=i < total)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        leaky_plus_square[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky_plus_square(src, dst, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(src + i, mask=i < total)
    tl.store(dst + i, tl.where(v > 0, v, 0.2 * v) + v * v, mask=i < total)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        leaky_plus_square[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512)
        return out
