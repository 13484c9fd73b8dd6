# program wrong | family: distribution | mechanism: scale and shift are ones and zeros after construction, so the kernel does not read them | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(31, 52)]


def get_init_inputs():
    return [52]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(c < n, x - mean, 0.0)
    y = centred * tl.rsqrt(tl.sum(centred * centred, axis=0) / n + eps)
    tl.store(y_ptr + row * n + c, y, mask=c < n)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        y = torch.empty_like(x)
        layer_norm[(x.shape[0],)](x, self.norm.weight, self.norm.bias, y, x.shape[1], self.norm.eps, BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(c < n, x - mean, 0.0)
    y = centred * tl.rsqrt(tl.sum(centred * centred, axis=0) / n + eps)
    y = y * tl.load(w_ptr + c, mask=c < n) + tl.load(b_ptr + c, mask=c < n)
    tl.store(y_ptr + row * n + c, y, mask=c < n)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        y = torch.empty_like(x)
        layer_norm[(x.shape[0],)](x, self.norm.weight, self.norm.bias, y, x.shape[1], self.norm.eps, BLOCK=64)
        return y
