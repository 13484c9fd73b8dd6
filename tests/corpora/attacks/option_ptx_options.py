# program wrong | family: launch-option | mechanism: options for ptxas are passed at the launch | stage: record | check: option
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x):
        b, c = x.shape
        g = x.view(b, self.groups, c // self.groups)
        return (g - g.amin(dim=2, keepdim=True)).view(b, c)

def get_inputs():
    return [torch.randn(26, 30)]

def get_init_inputs():
    return [5]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def above_group_minimum(x, y, size, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + group * size + i, mask=i < size, other=float("inf"))
    tl.store(y + group * size + i, v - tl.min(v, axis=0), mask=i < size)


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x):
        y = torch.empty_like(x)
        options = {"num_warps": 1, "ptx_options": "--def-load-cache=cs"}
        above_group_minimum[(x.shape[0] * self.groups,)](x, y, x.shape[1] // self.groups, BLOCK=8, **options)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def above_group_minimum(x, y, size, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + group * size + i, mask=i < size, other=float("inf"))
    tl.store(y + group * size + i, v - tl.min(v, axis=0), mask=i < size)


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x):
        y = torch.empty_like(x)
        options = {"num_warps": 1}
        above_group_minimum[(x.shape[0] * self.groups,)](x, y, x.shape[1] // self.groups, BLOCK=8, **options)
        return y
