# program wrong | family: guards | mechanism: labels beyond the end, which have no value, are counted unless they are zero | stage: correct | check: outputs | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, labels, x):
        return (labels != 0).sum(1) * x


def get_inputs():
    return [torch.randint(0, 9, (64, 50)), torch.randn(64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count(l_ptr, x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    label = tl.load(l_ptr + row * C + c, mask=c < C)
    n = tl.sum((label != 0).to(tl.int32), 0)
    tl.store(y_ptr + row, n * tl.load(x_ptr + row))


class ModelNew(nn.Module):
    def forward(self, labels, x):
        y = torch.empty_like(x)
        count[(64,)](labels, x, y, 50, BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count(l_ptr, x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    label = tl.load(l_ptr + row * C + c, mask=c < C, other=0)
    n = tl.sum((label != 0).to(tl.int32), 0)
    tl.store(y_ptr + row, n * tl.load(x_ptr + row))


class ModelNew(nn.Module):
    def forward(self, labels, x):
        y = torch.empty_like(x)
        count[(64,)](labels, x, y, 50, BLOCK=64)
        return y
