# program wrong | family: lazy | mechanism: two results are views of one buffer that share rows | stage: correct | check: interface
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        y = torch.exp2(x)
        return y[:20].clone(), y[12:].clone()

def get_inputs():
    return [torch.randn(32, 13)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp2_rows(x, y, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    at = tl.program_id(0) * cols + c
    tl.store(y + at, tl.exp2(tl.load(x + at, mask=c < cols)), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        exp2_rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=16)
        return y[:20], y[12:]
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp2_rows(x, y, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    at = tl.program_id(0) * cols + c
    tl.store(y + at, tl.exp2(tl.load(x + at, mask=c < cols)), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        exp2_rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=16)
        return y[:20].clone(), y[12:].clone()
