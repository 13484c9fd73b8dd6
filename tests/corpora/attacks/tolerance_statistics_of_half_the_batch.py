# program wrong | family: tolerance | mechanism: the batch's mean and variance are taken from every other row | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        mean = x.mean(dim=0, keepdim=True)
        return (x - mean) / (x - mean).pow(2).mean(dim=0, keepdim=True).add(1e-5).sqrt()


def get_inputs():
    return [torch.randn(128, 18)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def normalise_columns(x_ptr, y_ptr, rows, width, STEP: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * width + c, mask=r < rows, other=0.0)
    used = (r < rows) & (r % STEP == 0)
    count = tl.sum(used.to(tl.float32), axis=0)
    mean = tl.sum(tl.where(used, x, 0.0), axis=0) / count
    centred = tl.where(used, x - mean, 0.0)
    std = tl.sqrt(tl.sum(centred * centred, axis=0) / count + 1e-5)
    tl.store(y_ptr + r * width + c, (x - mean) / std, mask=r < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows, width = x.shape
        normalise_columns[(width,)](x, y, rows, width, STEP=2, BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def normalise_columns(x_ptr, y_ptr, rows, width, STEP: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * width + c, mask=r < rows, other=0.0)
    used = (r < rows) & (r % STEP == 0)
    count = tl.sum(used.to(tl.float32), axis=0)
    mean = tl.sum(tl.where(used, x, 0.0), axis=0) / count
    centred = tl.where(used, x - mean, 0.0)
    std = tl.sqrt(tl.sum(centred * centred, axis=0) / count + 1e-5)
    tl.store(y_ptr + r * width + c, (x - mean) / std, mask=r < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows, width = x.shape
        normalise_columns[(width,)](x, y, rows, width, STEP=1, BLOCK=128)
        return y
