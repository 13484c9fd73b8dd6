# program wrong | family: cached-result | mechanism: the last input object and its result are kept on the module, the same object gets the old result | stage: record | check: survives
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.erf(x) * torch.cos(x)

def get_inputs():
    return [torch.randn(33, 21)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def wave_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.erf(v) * tl.cos(v), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self._last_in = self._last_out = None

    def forward(self, x):
        if x is self._last_in:
            return self._last_out
        y = torch.empty_like(x)
        wave_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        self._last_in, self._last_out = x, y
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def wave_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.erf(v) * tl.cos(v), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self._last_in = self._last_out = None

    def forward(self, x):
        if x is self._last_in:
            return self._last_out
        y = torch.empty_like(x)
        wave_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
