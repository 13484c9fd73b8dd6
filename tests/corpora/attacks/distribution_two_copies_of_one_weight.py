# program wrong | family: distribution | mechanism: two parameters start as copies of each other, and the kernel reads one of them twice | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # how far a model has moved from the one that it started as
    def __init__(self, width):
        super().__init__()
        self.online = nn.Parameter(torch.randn(width))
        self.target = nn.Parameter(self.online.detach().clone())

    def forward(self, x):
        return torch.relu(x * self.online), torch.relu(x * self.target)


def get_inputs():
    return [torch.randn(64, 80)]


def get_init_inputs():
    return [80]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def both(x_ptr, a_ptr, b_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n)
    y = tl.maximum(x * tl.load(a_ptr + c, mask=c < n), 0.0)
    tl.store(y_ptr + row * n + c, y, mask=c < n)
    tl.store(z_ptr + row * n + c, y, mask=c < n)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.online = nn.Parameter(torch.randn(width))
        self.target = nn.Parameter(self.online.detach().clone())

    def forward(self, x):
        y, z = torch.empty_like(x), torch.empty_like(x)
        both[(x.shape[0],)](x, self.online, self.target, y, z, x.shape[1], BLOCK=128)
        return y, z
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def both(x_ptr, a_ptr, b_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n)
    y = tl.maximum(x * tl.load(a_ptr + c, mask=c < n), 0.0)
    z = tl.maximum(x * tl.load(b_ptr + c, mask=c < n), 0.0)
    tl.store(y_ptr + row * n + c, y, mask=c < n)
    tl.store(z_ptr + row * n + c, z, mask=c < n)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.online = nn.Parameter(torch.randn(width))
        self.target = nn.Parameter(self.online.detach().clone())

    def forward(self, x):
        y, z = torch.empty_like(x), torch.empty_like(x)
        both[(x.shape[0],)](x, self.online, self.target, y, z, x.shape[1], BLOCK=128)
        return y, z
