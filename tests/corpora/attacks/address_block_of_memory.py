# program wrong | family: address | mechanism: which 256 bytes an address is in decides between two block sizes | stage: record | check: address
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x) - 2.0

def get_inputs():
    return [torch.randn(32, 26)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp_minus_two(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.exp(v) - 2.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        block = 256 if x.data_ptr() // 256 % 2 == 0 else 64
        exp_minus_two[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp_minus_two(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.exp(v) - 2.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        block = 256 if x.numel() % 16 == 0 else 64
        exp_minus_two[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)
        return y
