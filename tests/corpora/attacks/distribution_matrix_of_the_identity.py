# program wrong | family: distribution | mechanism: the weight is the identity after construction, so the kernel copies instead of multiplying | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # a linear layer that starts as doing nothing
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Parameter(torch.eye(width))

    def forward(self, x):
        return torch.sigmoid(x @ self.mix)


def get_inputs():
    return [torch.randn(48, 64)]


def get_init_inputs():
    return [64]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mixed(x_ptr, w_ptr, y_ptr, K: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, K)
    x = tl.load(x_ptr + row * K + k)
    tl.store(y_ptr + row * K + k, tl.sigmoid(x * tl.load(w_ptr)))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Parameter(torch.eye(width))

    def forward(self, x):
        y = torch.empty_like(x)
        mixed[(x.shape[0],)](x, self.mix, y, K=x.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mixed(x_ptr, w_ptr, y_ptr, K: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, K)
    x = tl.load(x_ptr + row * K + k)
    w = tl.load(w_ptr + k[:, None] * K + k[None, :])
    tl.store(y_ptr + row * K + k, tl.sigmoid(tl.sum(x[:, None] * w, axis=0)))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Parameter(torch.eye(width))

    def forward(self, x):
        y = torch.empty_like(x)
        mixed[(x.shape[0],)](x, self.mix, y, K=x.shape[1])
        return y
