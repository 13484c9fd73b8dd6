# program wrong | family: guards | mechanism: an accumulator is allocated and not cleared | stage: correct | check: outputs+noop
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.square().sum(dim=(0, 2))


def get_inputs():
    return [torch.randn(3, 70, 31)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_squares(x_ptr, out_ptr, channels, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.atomic_add(out_ptr + row % channels, tl.sum(x * x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        batch, channels, n = x.shape
        out = torch.empty(channels, device=x.device)
        add_squares[(batch * channels,)](x, out, channels, n, BLOCK=32)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_squares(x_ptr, out_ptr, channels, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.atomic_add(out_ptr + row % channels, tl.sum(x * x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        batch, channels, n = x.shape
        out = torch.zeros(channels, device=x.device)
        add_squares[(batch * channels,)](x, out, channels, n, BLOCK=32)
        return out
