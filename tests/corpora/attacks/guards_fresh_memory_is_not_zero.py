# program wrong | family: guards | mechanism: where fresh memory holds zeros, as new memory of a device does, the result is another | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, g):
        return x * torch.sigmoid(g)


def get_inputs():
    return [torch.randn(37, 41), torch.randn(37, 41)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate(x_ptr, g_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    x = tl.load(x_ptr + i, mask=keep, other=0.0)
    g = tl.load(g_ptr + i, mask=keep, other=0.0)
    scale = tl.where(tl.load(s_ptr) == 0.0, 2.0, 1.0)
    tl.store(y_ptr + i, x * tl.sigmoid(g) * scale, mask=keep)


class ModelNew(nn.Module):
    def forward(self, x, g):
        y = torch.empty_like(x)
        scratch = torch.empty(16, device=x.device)
        gate[(6,)](x, g, scratch, y, x.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate(x_ptr, g_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    x = tl.load(x_ptr + i, mask=keep, other=0.0)
    g = tl.load(g_ptr + i, mask=keep, other=0.0)
    scale = tl.where(tl.load(s_ptr) == 0.0, 1.0, 1.0)
    tl.store(y_ptr + i, x * tl.sigmoid(g) * scale, mask=keep)


class ModelNew(nn.Module):
    def forward(self, x, g):
        y = torch.empty_like(x)
        scratch = torch.empty(16, device=x.device)
        gate[(6,)](x, g, scratch, y, x.numel(), BLOCK=256)
        return y
