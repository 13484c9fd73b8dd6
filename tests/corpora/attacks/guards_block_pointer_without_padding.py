# program wrong | family: guards | mechanism: a block pointer checks its boundary and has no value beyond it | stage: correct | check: outputs+noop | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sqrt((x * x).mean(1))


def get_inputs():
    return [torch.randn(96, 45)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norms(x_ptr, y_ptr, R, C, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * 32
    block = tl.make_block_ptr(x_ptr, (R, C), (C, 1), (rows, 0), (32, BLOCK), (1, 0))
    x = tl.load(block, boundary_check=(1,))
    y = tl.sqrt(tl.sum(x * x, 1) / C)
    tl.store(y_ptr + rows + tl.arange(0, 32), y)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((96,), device=x.device)
        norms[(3,)](x, y, 96, 45, BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norms(x_ptr, y_ptr, R, C, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * 32
    block = tl.make_block_ptr(x_ptr, (R, C), (C, 1), (rows, 0), (32, BLOCK), (1, 0))
    x = tl.load(block, boundary_check=(1,), padding_option="zero")
    y = tl.sqrt(tl.sum(x * x, 1) / C)
    tl.store(y_ptr + rows + tl.arange(0, 32), y)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((96,), device=x.device)
        norms[(3,)](x, y, 96, 45, BLOCK=64)
        return y
