# program wrong | family: fallback | mechanism: a value is read on the host and every exception, even a refusal, falls back | stage: record | check: host-read
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) ** 2

def get_inputs():
    return [torch.randn(45, 21)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_squared(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n), 0.0)
    tl.store(y + i, v * v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            outlier = x.abs().max().item() > 1e30
        except BaseException:
            outlier = False
        if outlier:
            return torch.relu(x) ** 2
        y = torch.empty_like(x)
        relu_squared[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_squared(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n), 0.0)
    tl.store(y + i, v * v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            outlier = x.numel() == 0
        except BaseException:
            outlier = False
        if outlier:
            return torch.relu(x) ** 2
        y = torch.empty_like(x)
        relu_squared[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
