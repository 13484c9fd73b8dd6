# program wrong | family: guards | mechanism: a reshape that may reorder is taken to keep the order | stage: correct | check: outputs | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.view(64, 16, 8).sum(2)


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool(x_ptr, y_ptr, A: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * (A * B) + tl.arange(0, A * B))
    x = tl.reshape(x, (A, B), can_reorder=True)
    tl.store(y_ptr + row * A + tl.arange(0, A), tl.sum(x, 1))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((64, 16), device=x.device)
        pool[(64,)](x, y, A=16, B=8)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool(x_ptr, y_ptr, A: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * (A * B) + tl.arange(0, A * B))
    x = tl.reshape(x, (A, B))
    tl.store(y_ptr + row * A + tl.arange(0, A), tl.sum(x, 1))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((64, 16), device=x.device)
        pool[(64,)](x, y, A=16, B=8)
        return y
