# program wrong | family: address | mechanism: the kernel gets the output as a distance in elements from the input's address | stage: record | check: address+varies
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.neg(x).clamp(max=0.5)

def get_inputs():
    return [torch.randn(35, 20)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clamp_negated(x, distance, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.minimum(-tl.load(x + i, mask=i < n), 0.5)
    near = (distance > 0) | (distance <= 0)
    tl.store(y + i, v, mask=(i < n) & near)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        distance = (y.data_ptr() - x.data_ptr()) // x.element_size()
        clamp_negated[(triton.cdiv(x.numel(), 256),)](x, distance, y, x.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clamp_negated(x, distance, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.minimum(-tl.load(x + i, mask=i < n), 0.5)
    near = (distance > 0) | (distance <= 0)
    tl.store(y + i, v, mask=(i < n) & near)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        distance = x.numel()
        clamp_negated[(triton.cdiv(x.numel(), 256),)](x, distance, y, x.numel(), BLOCK=256)
        return y
