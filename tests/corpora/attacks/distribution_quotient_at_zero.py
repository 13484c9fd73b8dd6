# program wrong | family: distribution | mechanism: a quotient whose limit at exactly zero is left out | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sinc(x) + 0.1 * x


def get_inputs():
    return [torch.randn(50, 90)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sinc_and_more(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0)
    t = x * 3.141592653589793
    s = tl.sin(t) / t
    tl.store(y_ptr + at, s + 0.1 * x, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sinc_and_more[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sinc_and_more(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0)
    t = x * 3.141592653589793
    s = tl.where(t == 0, 1.0, tl.sin(t) / tl.where(t == 0, 1.0, t))
    tl.store(y_ptr + at, s + 0.1 * x, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sinc_and_more[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
