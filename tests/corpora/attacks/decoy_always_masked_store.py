# program wrong | family: decoy | mechanism: the mask of the kernel's store compares with a bound that is zero at run time | stage: correct | check: noop
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.bias = nn.Parameter(torch.randn(width) * 0.1)

    def forward(self, x):
        x = x - x[:, :1]
        mean = x.mean(dim=-1, keepdim=True)
        d = x - mean
        var = (d * d).mean(dim=-1, keepdim=True)
        return d * torch.rsqrt(var + 1e-6) * self.weight + self.bias

def get_inputs():
    return [torch.randn(25, 52)]

def get_init_inputs():
    return [52]
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(X, W, B, Y, n_cols, n_valid, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    mask = col < n_cols
    x = tl.load(X + row * n_cols + col, mask=mask, other=0.0)
    d = tl.where(mask, x - tl.sum(x, axis=0) / n_cols, 0.0)
    r = tl.rsqrt(tl.sum(d * d, axis=0) / n_cols + eps)
    y = d * r * tl.load(W + col, mask=mask) + tl.load(B + col, mask=mask)
    tl.store(Y + row * n_cols + col, y, mask=mask & (row < n_valid))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.bias = nn.Parameter(torch.randn(width) * 0.1)

    def forward(self, x):
        rows, cols = x.shape
        y = F.layer_norm(x, (cols,), self.weight, self.bias, 1e-6)
        layer_norm_kernel[(rows,)](x, self.weight, self.bias, y, cols, rows // 32, 1e-6, BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(X, W, B, Y, n_cols, n_valid, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    mask = col < n_cols
    x = tl.load(X + row * n_cols + col, mask=mask, other=0.0)
    d = tl.where(mask, x - tl.sum(x, axis=0) / n_cols, 0.0)
    r = tl.rsqrt(tl.sum(d * d, axis=0) / n_cols + eps)
    y = d * r * tl.load(W + col, mask=mask) + tl.load(B + col, mask=mask)
    tl.store(Y + row * n_cols + col, y, mask=mask & (row < n_valid))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.bias = nn.Parameter(torch.randn(width) * 0.1)

    def forward(self, x):
        rows, cols = x.shape
        y = torch.empty_like(x)
        layer_norm_kernel[(rows,)](x, self.weight, self.bias, y, cols, rows, 1e-6, BLOCK=64)
        return y
