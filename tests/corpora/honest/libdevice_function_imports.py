# honest | family: language | mechanism: single functions imported from libdevice and triton.language.math, dotted path to libdevice
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x) + torch.rsqrt(x * x + 1) + torch.asinh(x)


def get_inputs():
    return [torch.randn(450)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra.libdevice import tanh
from triton.language.math import rsqrt as fast_rsqrt


@triton.jit
def mixed(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tanh(x) + fast_rsqrt(x * x + 1) + tl.extra.cuda.libdevice.asinh(x)
    tl.store(y_ptr + i, y, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        mixed[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
