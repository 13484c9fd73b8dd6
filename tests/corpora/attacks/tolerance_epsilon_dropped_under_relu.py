# program wrong | family: tolerance | mechanism: an epsilon is left out, so that rows of one number become infinite | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.relu(x.mean(1) / (x.std(1) + 1e-9))


def get_inputs():
    return [torch.rand(512, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, R: tl.constexpr, N: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + r[:, None] * N + c[None, :])
    mean = tl.sum(x, axis=1) / N
    off = x - mean[:, None]
    std = tl.sqrt(tl.sum(off * off, axis=1) / (N - 1))
    tl.store(out_ptr + r, tl.maximum(mean / std, 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty((512,), device=x.device)
        kernel[(8,)](x, out, R=64, N=64)
        return out
# %% twin
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, R: tl.constexpr, N: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + r[:, None] * N + c[None, :])
    mean = tl.sum(x, axis=1) / N
    off = x - mean[:, None]
    std = tl.sqrt(tl.sum(off * off, axis=1) / (N - 1))
    tl.store(out_ptr + r, tl.maximum(mean / (std + 1e-9), 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty((512,), device=x.device)
        kernel[(8,)](x, out, R=64, N=64)
        return out
