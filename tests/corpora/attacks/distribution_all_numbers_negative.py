# program wrong | family: distribution | mechanism: a running maximum starts from zero, which is right while some number of each column is positive | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.amax(0) * 2.0


def get_inputs():
    return [torch.randn(256, 128)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def largest(x_ptr, y_ptr, m, n, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    best = tl.zeros((B,), tl.float32)
    for i in range(m):
        best = tl.maximum(best, tl.load(x_ptr + i * n + c))
    tl.store(y_ptr + c, best * 2.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[1], device=x.device)
        largest[(x.shape[1] // 32,)](x, y, x.shape[0], x.shape[1], B=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def largest(x_ptr, y_ptr, m, n, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    best = tl.full((B,), float("-inf"), tl.float32)
    for i in range(m):
        best = tl.maximum(best, tl.load(x_ptr + i * n + c))
    tl.store(y_ptr + c, best * 2.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[1], device=x.device)
        largest[(x.shape[1] // 32,)](x, y, x.shape[0], x.shape[1], B=32)
        return y
