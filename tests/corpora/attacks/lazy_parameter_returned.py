# program wrong | family: lazy | mechanism: the second result is the parameter's own memory where the reference copies it | stage: correct | check: interface
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.prior = nn.Parameter(torch.randn(size))

    def forward(self, x):
        return x - torch.sigmoid(self.prior), self.prior.detach().clone()

def get_inputs():
    return [torch.randn(10, 90)]

def get_init_inputs():
    return [90]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def subtract_prior(x, p, y, q, size, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < size
    prior = tl.load(p + c, mask=m)
    tl.store(y + row * size + c, tl.load(x + row * size + c, mask=m) - tl.sigmoid(prior), mask=m)
    if row == 0:
        tl.store(q + c, prior, mask=m)


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.prior = nn.Parameter(torch.randn(size))

    def forward(self, x):
        y, q = torch.empty_like(x), torch.empty_like(self.prior)
        subtract_prior[(x.shape[0],)](x, self.prior, y, q, x.shape[1], BLOCK=128)
        return y, self.prior.detach()
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def subtract_prior(x, p, y, q, size, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < size
    prior = tl.load(p + c, mask=m)
    tl.store(y + row * size + c, tl.load(x + row * size + c, mask=m) - tl.sigmoid(prior), mask=m)
    if row == 0:
        tl.store(q + c, prior, mask=m)


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.prior = nn.Parameter(torch.randn(size))

    def forward(self, x):
        y, q = torch.empty_like(x), torch.empty_like(self.prior)
        subtract_prior[(x.shape[0],)](x, self.prior, y, q, x.shape[1], BLOCK=128)
        return y, q
