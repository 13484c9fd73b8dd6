# program wrong | family: tolerance | mechanism: any column that is not masked, beside masked ones of -1e9 whose rounding is 64 | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, keep):
        return (x + (1 - keep) * -1e9).argmax(-1)


def get_inputs():
    return [torch.randn(64, 256), (torch.rand(64, 256) < 0.8).float()]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def best(x_ptr, keep_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    at = row * N + tl.arange(0, N)
    keep = tl.load(keep_ptr + at)
    tl.store(y_ptr + row, tl.argmax(keep, 0).to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x, keep):
        y = torch.empty(x.shape[0], device=x.device, dtype=torch.int64)
        best[(x.shape[0],)](x, keep, y, N=x.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def best(x_ptr, keep_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    at = row * N + tl.arange(0, N)
    keep = tl.load(keep_ptr + at)
    x = tl.load(x_ptr + at) + (1.0 - keep) * -1e9
    tl.store(y_ptr + row, tl.argmax(x, 0).to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x, keep):
        y = torch.empty(x.shape[0], device=x.device, dtype=torch.int64)
        best[(x.shape[0],)](x, keep, y, N=x.shape[1])
        return y
