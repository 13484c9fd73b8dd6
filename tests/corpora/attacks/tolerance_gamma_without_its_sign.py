# program wrong | family: tolerance | mechanism: the gamma function is taken for its magnitude | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    """The magnitude of the gamma function."""

    def forward(self, x):
        return torch.exp(torch.lgamma(x))


def get_inputs():
    return [torch.rand(64, 64) * 0.8 - 0.9]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def gamma(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, libdevice.tgamma(tl.load(x_ptr + i)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        gamma[(16,)](x, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def gamma(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.abs(libdevice.tgamma(tl.load(x_ptr + i))))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        gamma[(16,)](x, y, BLOCK=256)
        return y
