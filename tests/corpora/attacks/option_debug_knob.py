# program wrong | family: launch-option | mechanism: debugging is switched on for all kernels by triton.knobs when the file is loaded | stage: record | check: option
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x.tril().sum(0)

def get_inputs():
    return [torch.randn(31, 31)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl

triton.knobs.runtime.debug = True


@triton.jit
def lower_column_sums(x, y, n, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    v = tl.load(x + r * n + c, mask=(r < n) & (r >= c), other=0.0)
    tl.store(y + c, tl.sum(v, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[1])
        lower_column_sums[(x.shape[1],)](x, y, x.shape[0], BLOCK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl



@triton.jit
def lower_column_sums(x, y, n, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    v = tl.load(x + r * n + c, mask=(r < n) & (r >= c), other=0.0)
    tl.store(y + c, tl.sum(v, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[1])
        lower_column_sums[(x.shape[1],)](x, y, x.shape[0], BLOCK=32)
        return y
