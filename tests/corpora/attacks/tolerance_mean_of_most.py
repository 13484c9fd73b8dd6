# program wrong | family: tolerance | mechanism: means of long rows divide by one more than the count | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.mean(1)


def get_inputs():
    return [torch.rand(64, 16000)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def means(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * columns + c, mask=c < columns, other=0.0)
    tl.store(y_ptr + row, tl.sum(total, 0) / (columns + 1))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        means[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def means(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * columns + c, mask=c < columns, other=0.0)
    tl.store(y_ptr + row, tl.sum(total, 0) / columns)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        means[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
        return y
