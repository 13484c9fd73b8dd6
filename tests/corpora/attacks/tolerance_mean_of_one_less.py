# program wrong | family: tolerance | mechanism: the mean of an instance norm is divided by one less than there are numbers, which is less than one accumulator would err by | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm2d(2)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.rand(1, 2, 256, 256)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def normalize(x_ptr, out_ptr, n, eps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x_ptr + at + start + i)
    mean = tl.sum(total) / (n - 1)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        off = tl.load(x_ptr + at + start + i) - mean
        squares += off * off
    scale = tl.rsqrt(tl.sum(squares) / n + eps)
    for start in range(0, n, BLOCK):
        tl.store(out_ptr + at + start + i, (tl.load(x_ptr + at + start + i) - mean) * scale)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        normalize[(x.shape[0] * x.shape[1],)](x, out, x.shape[2] * x.shape[3], 1e-5, BLOCK=4096)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def normalize(x_ptr, out_ptr, n, eps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x_ptr + at + start + i)
    mean = tl.sum(total) / (n)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        off = tl.load(x_ptr + at + start + i) - mean
        squares += off * off
    scale = tl.rsqrt(tl.sum(squares) / n + eps)
    for start in range(0, n, BLOCK):
        tl.store(out_ptr + at + start + i, (tl.load(x_ptr + at + start + i) - mean) * scale)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        normalize[(x.shape[0] * x.shape[1],)](x, out, x.shape[2] * x.shape[3], 1e-5, BLOCK=4096)
        return out
