# program wrong | family: distribution | mechanism: squares are added in half precision, which overflows on inputs ten times as large | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).half()


def get_inputs():
    return [(torch.randn(40, 32) * 8).half()]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    total = tl.sum(x * x, axis=0).to(tl.float32)
    y = x.to(tl.float32) * tl.rsqrt(total / n + 1e-5)
    tl.store(y_ptr + row * n + c, y.to(tl.float16), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rms_norm[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    total = tl.sum(x.to(tl.float32) * x.to(tl.float32), axis=0)
    y = x.to(tl.float32) * tl.rsqrt(total / n + 1e-5)
    tl.store(y_ptr + row * n + c, y.to(tl.float16), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rms_norm[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
        return y
