# program wrong | family: tolerance | mechanism: a norm in bfloat16 with a tenth of the epsilon, which ordinary rows do not show | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, dtype=torch.bfloat16))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-5) * self.weight.float()).to(x.dtype)


def get_inputs():
    return [torch.randn(128, 256, dtype=torch.bfloat16)]


def get_init_inputs():
    return [256]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm(x_ptr, w_ptr, y_ptr, eps, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + c).to(tl.float32)
    w = tl.load(w_ptr + c).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + eps)
    tl.store(y_ptr + row * N + c, (y * w).to(tl.bfloat16))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, dtype=torch.bfloat16))

    def forward(self, x):
        y = torch.empty_like(x)
        rms_norm[(x.shape[0],)](x, self.weight, y, 1e-6, N=x.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm(x_ptr, w_ptr, y_ptr, eps, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + c).to(tl.float32)
    w = tl.load(w_ptr + c).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + eps)
    tl.store(y_ptr + row * N + c, (y * w).to(tl.bfloat16))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, dtype=torch.bfloat16))

    def forward(self, x):
        y = torch.empty_like(x)
        rms_norm[(x.shape[0],)](x, self.weight, y, 1e-5, N=x.shape[1])
        return y
