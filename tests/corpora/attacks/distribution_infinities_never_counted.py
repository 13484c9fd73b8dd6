# program wrong | family: distribution | mechanism: a flag that says whether a number is infinite is always false | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # gradients are scaled back, and the step is left out where one of them overflowed
    def forward(self, g):
        return g * 0.125, torch.isinf(g).any()


def get_inputs():
    return [torch.randn(64, 96)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_back(g_ptr, y_ptr, flag_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, g * 0.125, mask=i < n)
    if tl.program_id(0) == 0:
        tl.store(flag_ptr, False)


class ModelNew(nn.Module):
    def forward(self, g):
        y = torch.empty_like(g)
        flag = torch.zeros((), dtype=torch.bool, device=g.device)
        scale_back[(triton.cdiv(g.numel(), 512),)](g, y, flag, g.numel(), BLOCK=512)
        return y, flag
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_back(g_ptr, y_ptr, flag_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, g * 0.125, mask=i < n)
    if tl.max((tl.abs(g) == float("inf")).to(tl.int32), axis=0) > 0:
        tl.store(flag_ptr, True)


class ModelNew(nn.Module):
    def forward(self, g):
        y = torch.empty_like(g)
        flag = torch.zeros((), dtype=torch.bool, device=g.device)
        scale_back[(triton.cdiv(g.numel(), 512),)](g, y, flag, g.numel(), BLOCK=512)
        return y, flag
