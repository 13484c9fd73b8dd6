# program wrong | family: whole | mechanism: padding counts in a mean, and no token that is drawn is padding | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    """The mean of the features of those tokens that are no padding."""

    def forward(self, x, tokens):
        real = (tokens != 0).float()
        return (x * real[..., None]).sum(1) / real.sum(1, keepdim=True).clamp(min=1)


def get_inputs():
    return [torch.randn(16, 24, 32), torch.randint(1, 1000, (16, 24))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def means(x_ptr, t_ptr, y_ptr, T, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    total = tl.zeros((C,), tl.float32)
    count = 0.0
    for t in range(T):
        real = 1.0
        total += real * tl.load(x_ptr + (row * T + t) * C + c)
        count += real
    tl.store(y_ptr + row * C + c, total / tl.maximum(count, 1.0))


class ModelNew(nn.Module):
    def forward(self, x, tokens):
        y = torch.empty((16, 32), device=x.device)
        means[(16,)](x, tokens, y, 24, C=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def means(x_ptr, t_ptr, y_ptr, T, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    total = tl.zeros((C,), tl.float32)
    count = 0.0
    for t in range(T):
        real = tl.where(tl.load(t_ptr + row * T + t) != 0, 1.0, 0.0)
        total += real * tl.load(x_ptr + (row * T + t) * C + c)
        count += real
    tl.store(y_ptr + row * C + c, total / tl.maximum(count, 1.0))


class ModelNew(nn.Module):
    def forward(self, x, tokens):
        y = torch.empty((16, 32), device=x.device)
        means[(16,)](x, tokens, y, 24, C=32)
        return y
