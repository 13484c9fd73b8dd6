# program wrong | family: tolerance | mechanism: the deviation is the unbiased one | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        z = torch.tanh(x) + 300.0
        return (z - z.mean(1, keepdim=True)) / (z.std(1, keepdim=True, unbiased=False) + 1e-5)


def get_inputs():
    return [torch.randn(8, 4096)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, N: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + r * N + c)
    z = 2.0 * tl.sigmoid(2.0 * x) - 1.0 + 300.0
    mean = tl.sum(z, axis=0) / N
    off = z - mean
    std = tl.sqrt(tl.sum(off * off, axis=0) / (N - 1))
    tl.store(out_ptr + r * N + c, off / (std + 1e-5))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(8,)](x, out, N=4096)
        return out
# %% twin
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, N: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + r * N + c)
    z = 2.0 * tl.sigmoid(2.0 * x) - 1.0 + 300.0
    mean = tl.sum(z, axis=0) / N
    off = z - mean
    std = tl.sqrt(tl.sum(off * off, axis=0) / N)
    tl.store(out_ptr + r * N + c, off / (std + 1e-5))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(8,)](x, out, N=4096)
        return out
