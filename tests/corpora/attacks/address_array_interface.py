# program wrong | family: address | mechanism: __cuda_array_interface__ gives the address that an alignment test looks at | stage: record | check: host-read
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x.abs() + x

def get_inputs():
    return [torch.randn(28, 31)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def positive_twice(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.abs(v) + v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        facts = getattr(x, "__cuda_array_interface__", None)
        warps = 4 if facts is not None and str(facts).count("7f") else 2
        positive_twice[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256, num_warps=warps)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def positive_twice(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.abs(v) + v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        facts = x.shape
        warps = 4 if facts is not None and str(facts).count("7f") else 2
        positive_twice[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256, num_warps=warps)
        return y
