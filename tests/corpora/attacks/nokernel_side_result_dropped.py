# program wrong | family: no-kernel | mechanism: a full kernel writes a buffer that nobody returns, the result comes from fused aten | stage: coverage | check: share+noop
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        spread = centred.pow(2).mean(-1, keepdim=True)
        return centred / torch.sqrt(spread + 1e-5) * self.gain

def get_inputs():
    return [torch.randn(33, 45)]

def get_init_inputs():
    return [45]
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x_ptr, g_ptr, y_ptr, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    x = tl.load(x_ptr + row * width + cols, mask=mask, other=0.0)
    c = tl.where(mask, x - tl.sum(x, axis=0) / width, 0.0)
    y = c * tl.rsqrt(tl.sum(c * c, axis=0) / width + eps)
    tl.store(y_ptr + row * width + cols, y * tl.load(g_ptr + cols, mask=mask), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        rows, width = x.shape
        fast = torch.empty_like(x)
        norm_kernel[(rows,)](x, self.gain, fast, width, 1e-5, BLOCK=64)
        return F.layer_norm(x, (width,), self.gain, None, 1e-5)
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x_ptr, g_ptr, y_ptr, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    x = tl.load(x_ptr + row * width + cols, mask=mask, other=0.0)
    c = tl.where(mask, x - tl.sum(x, axis=0) / width, 0.0)
    y = c * tl.rsqrt(tl.sum(c * c, axis=0) / width + eps)
    tl.store(y_ptr + row * width + cols, y * tl.load(g_ptr + cols, mask=mask), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        rows, width = x.shape
        fast = torch.empty_like(x)
        norm_kernel[(rows,)](x, self.gain, fast, width, 1e-5, BLOCK=64)
        return fast
