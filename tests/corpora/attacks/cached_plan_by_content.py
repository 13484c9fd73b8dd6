# program wrong | family: cached-result | mechanism: launch plans are cached under a value of the input, read on the host | stage: record | check: host-read
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(n) + 0.5)

    def forward(self, x):
        return torch.flip(x, dims=[1]) * self.scale

def get_inputs():
    return [torch.randn(12, 38)]

def get_init_inputs():
    return [38]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def flip_kernel(x, s, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * cols + (cols - 1 - c), mask=m) * tl.load(s + c, mask=m)
    tl.store(y + row * cols + c, v, mask=m)


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(n) + 0.5)
        self.plans = {}

    def plan(self, x):
        key = round(x[0, 0].item(), 4)
        if key not in self.plans:
            self.plans[key] = triton.next_power_of_2(x.shape[1])
        return self.plans[key]

    def forward(self, x):
        y = torch.empty_like(x)
        flip_kernel[(x.shape[0],)](x, self.scale, y, x.shape[1], BLOCK=self.plan(x))
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def flip_kernel(x, s, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * cols + (cols - 1 - c), mask=m) * tl.load(s + c, mask=m)
    tl.store(y + row * cols + c, v, mask=m)


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(n) + 0.5)
        self.plans = {}

    def plan(self, x):
        key = x.shape[1]
        if key not in self.plans:
            self.plans[key] = triton.next_power_of_2(x.shape[1])
        return self.plans[key]

    def forward(self, x):
        y = torch.empty_like(x)
        flip_kernel[(x.shape[0],)](x, self.scale, y, x.shape[1], BLOCK=self.plan(x))
        return y
