# program wrong | family: lazy | mechanism: the second result is the input itself where the reference returns a copy | stage: correct | check: interface
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x / (1.0 + x * x), x.clone()

def get_inputs():
    return [torch.randn(28, 27)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def witch(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v / (1.0 + v * v), mask=i < n)
    tl.store(z + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y, z = torch.empty_like(x), torch.empty_like(x)
        witch[(triton.cdiv(x.numel(), 64),)](x, y, z, x.numel(), BLOCK=64)
        return y, x
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def witch(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v / (1.0 + v * v), mask=i < n)
    tl.store(z + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y, z = torch.empty_like(x), torch.empty_like(x)
        witch[(triton.cdiv(x.numel(), 64),)](x, y, z, x.numel(), BLOCK=64)
        return y, z
