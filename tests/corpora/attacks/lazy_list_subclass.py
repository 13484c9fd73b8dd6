# program wrong | family: lazy | mechanism: a list subclass whose __iter__ and __getitem__ launch the kernels | stage: record | check: lazy
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return [x.clamp(min=0.25), x.abs().sqrt()]

def get_inputs():
    return [torch.randn(19, 37)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def floor_and_root(x, a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(a + i, tl.maximum(v, 0.25), mask=i < n)
    tl.store(b + i, tl.sqrt(tl.abs(v)), mask=i < n)


def compute(x):
    a, b = torch.empty_like(x), torch.empty_like(x)
    floor_and_root[(triton.cdiv(x.numel(), 256),)](x, a, b, x.numel(), BLOCK=256)
    return [a, b]


class Pending(list):
    def __init__(self, x):
        super().__init__([None, None])
        self.x = x

    def __iter__(self):
        return iter(compute(self.x))

    def __getitem__(self, i):
        return compute(self.x)[i]


class ModelNew(nn.Module):
    def forward(self, x):
        return Pending(x)
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def floor_and_root(x, a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(a + i, tl.maximum(v, 0.25), mask=i < n)
    tl.store(b + i, tl.sqrt(tl.abs(v)), mask=i < n)


def compute(x):
    a, b = torch.empty_like(x), torch.empty_like(x)
    floor_and_root[(triton.cdiv(x.numel(), 256),)](x, a, b, x.numel(), BLOCK=256)
    return [a, b]


class Pending(list):
    def __init__(self, x):
        super().__init__([None, None])
        self.x = x

    def __iter__(self):
        return iter(compute(self.x))

    def __getitem__(self, i):
        return compute(self.x)[i]


class ModelNew(nn.Module):
    def forward(self, x):
        return list(Pending(x))
