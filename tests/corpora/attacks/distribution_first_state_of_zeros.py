# program wrong | family: distribution | mechanism: a state that get_inputs gives as zeros is not read | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # one step of a leaky memory
    def forward(self, x, state):
        return torch.tanh(0.9 * state + x)


def get_inputs():
    return [torch.randn(32, 160), torch.zeros(32, 160)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def remember(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, 2.0 * tl.sigmoid(2.0 * x) - 1.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, state):
        y = torch.empty_like(x)
        remember[(triton.cdiv(y.numel(), 512),)](x, state, y, y.numel(), BLOCK=512)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def remember(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n) + 0.9 * tl.load(s_ptr + i, mask=i < n)
    tl.store(y_ptr + i, 2.0 * tl.sigmoid(2.0 * x) - 1.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, state):
        y = torch.empty_like(x)
        remember[(triton.cdiv(y.numel(), 512),)](x, state, y, y.numel(), BLOCK=512)
        return y
