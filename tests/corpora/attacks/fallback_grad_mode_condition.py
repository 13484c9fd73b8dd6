# program wrong | family: fallback | mechanism: the kernel path runs only while gradients are enabled, which inference never does | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.up = nn.Linear(hidden, 2 * hidden, bias=False)

    def forward(self, x):
        a, b = self.up(x).chunk(2, dim=-1)
        return torch.sigmoid(a) * b

def get_inputs():
    return [torch.randn(27, 34)]

def get_init_inputs():
    return [34]
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def copy_rows(x, y, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    at = tl.program_id(0) * cols + c
    tl.store(y + at, tl.load(x + at, mask=c < cols), mask=c < cols)


@triton.jit
def glu_kernel(h, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(h + row * 2 * cols + c, mask=c < cols)
    b = tl.load(h + row * 2 * cols + cols + c, mask=c < cols)
    tl.store(y + row * cols + c, tl.sigmoid(a) * b, mask=c < cols)


class ModelNew(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.up = nn.Linear(hidden, 2 * hidden, bias=False)

    def forward(self, x):
        M, K = x.shape
        staged = torch.empty_like(x)
        copy_rows[(M,)](x, staged, K, BLOCK=64)
        h = self.up(staged)
        if torch.is_grad_enabled():
            y = torch.empty_like(x)
            glu_kernel[(M,)](h, y, K, BLOCK=64)
            return y
        a, b = h.chunk(2, dim=-1)
        return torch.sigmoid(a) * b
# %% twin
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def copy_rows(x, y, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    at = tl.program_id(0) * cols + c
    tl.store(y + at, tl.load(x + at, mask=c < cols), mask=c < cols)


@triton.jit
def glu_kernel(h, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(h + row * 2 * cols + c, mask=c < cols)
    b = tl.load(h + row * 2 * cols + cols + c, mask=c < cols)
    tl.store(y + row * cols + c, tl.sigmoid(a) * b, mask=c < cols)


class ModelNew(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.up = nn.Linear(hidden, 2 * hidden, bias=False)

    def forward(self, x):
        M, K = x.shape
        staged = torch.empty_like(x)
        copy_rows[(M,)](x, staged, K, BLOCK=64)
        h = self.up(staged)
        if h.is_contiguous():
            y = torch.empty_like(x)
            glu_kernel[(M,)](h, y, K, BLOCK=64)
            return y
        a, b = h.chunk(2, dim=-1)
        return torch.sigmoid(a) * b
