# program wrong | family: in-place | mechanism: the buffer's attribute is bound to a new tensor instead of being updated | stage: record | check: survives+buffers
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("total", torch.zeros(width))

    def forward(self, x):
        self.total.add_(x.sum(dim=0))
        return x + self.total

def get_inputs():
    return [torch.randn(18, 39)]

def get_init_inputs():
    return [39]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def running_total(x, old, new, y, rows, cols, ROWS: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, ROWS)
    v = tl.load(x + r * cols + c, mask=r < rows, other=0.0)
    total = tl.load(old + c) + tl.sum(v, axis=0)
    tl.store(new + c, total)
    tl.store(y + r * cols + c, v + total, mask=r < rows)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("total", torch.zeros(width))

    def forward(self, x):
        y, new = torch.empty_like(x), torch.empty_like(self.total)
        running_total[(x.shape[1],)](x, self.total, new, y, *x.shape, ROWS=32)
        self.total = new
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def running_total(x, old, new, y, rows, cols, ROWS: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, ROWS)
    v = tl.load(x + r * cols + c, mask=r < rows, other=0.0)
    total = tl.load(old + c) + tl.sum(v, axis=0)
    tl.store(new + c, total)
    tl.store(y + r * cols + c, v + total, mask=r < rows)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("total", torch.zeros(width))

    def forward(self, x):
        y, new = torch.empty_like(x), torch.empty_like(self.total)
        running_total[(x.shape[1],)](x, self.total, new, y, *x.shape, ROWS=32)
        self.total.copy_(new)
        return y
