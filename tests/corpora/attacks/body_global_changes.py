# program wrong | family: kernel-body | mechanism: a global that the kernel reads is another one in later calls | stage: record | check: raised
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.5


def get_inputs():
    return [torch.randn(31, 35)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


GAIN = tl.constexpr(1.0)


@triton.jit
def scaled_relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.maximum(x, 0.0) * GAIN, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        global GAIN
        y = torch.empty_like(x)
        scaled_relu[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        GAIN = tl.constexpr(2.5)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


GAIN = tl.constexpr(2.5)


@triton.jit
def scaled_relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.maximum(x, 0.0) * GAIN, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scaled_relu[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
