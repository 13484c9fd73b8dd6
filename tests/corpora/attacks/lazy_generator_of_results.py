# program wrong | family: lazy | mechanism: a generator in place of a tuple, each result is computed when it is asked for | stage: record | check: unsupported
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.sin(x), torch.cos(x), torch.exp(-x.abs())

def get_inputs():
    return [torch.randn(22, 22)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def wave(x, y, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    if KIND == 0:
        v = tl.sin(v)
    elif KIND == 1:
        v = tl.cos(v)
    else:
        v = tl.exp(-tl.abs(v))
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def results(self, x):
        for kind in range(3):
            y = torch.empty_like(x)
            wave[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), KIND=kind, BLOCK=128)
            yield y

    def forward(self, x):
        return self.results(x)
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def wave(x, y, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    if KIND == 0:
        v = tl.sin(v)
    elif KIND == 1:
        v = tl.cos(v)
    else:
        v = tl.exp(-tl.abs(v))
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def results(self, x):
        for kind in range(3):
            y = torch.empty_like(x)
            wave[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), KIND=kind, BLOCK=128)
            yield y

    def forward(self, x):
        return tuple(self.results(x))
