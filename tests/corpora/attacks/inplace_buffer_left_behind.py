# program wrong | family: in-place | mechanism: the new value of a buffer goes to a temporary that is dropped | stage: correct | check: buffers
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("peak", torch.ones(width))

    def forward(self, x):
        self.peak.copy_(torch.maximum(self.peak * 0.9, x.abs().amax(dim=0)))
        return x / self.peak

def get_inputs():
    return [torch.randn(23, 41)]

def get_init_inputs():
    return [41]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def peak_kernel(x, old, new, y, rows, cols, ROWS: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, ROWS)
    v = tl.load(x + r * cols + c, mask=r < rows, other=0.0)
    peak = tl.maximum(tl.load(old + c) * 0.9, tl.max(tl.abs(v), axis=0))
    tl.store(new + c, peak)
    tl.store(y + r * cols + c, v / peak, mask=r < rows)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("peak", torch.ones(width))

    def forward(self, x):
        y = torch.empty_like(x)
        new = torch.empty_like(self.peak)
        peak_kernel[(x.shape[1],)](x, self.peak, new, y, *x.shape, ROWS=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def peak_kernel(x, old, new, y, rows, cols, ROWS: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, ROWS)
    v = tl.load(x + r * cols + c, mask=r < rows, other=0.0)
    peak = tl.maximum(tl.load(old + c) * 0.9, tl.max(tl.abs(v), axis=0))
    tl.store(new + c, peak)
    tl.store(y + r * cols + c, v / peak, mask=r < rows)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("peak", torch.ones(width))

    def forward(self, x):
        y = torch.empty_like(x)
        new = torch.empty_like(self.peak)
        peak_kernel[(x.shape[1],)](x, self.peak, new, y, *x.shape, ROWS=32)
        self.peak.copy_(new)
        return y
