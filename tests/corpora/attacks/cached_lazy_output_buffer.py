# program wrong | family: cached-result | mechanism: the output buffer is made by the first call, kept and returned by all later ones | stage: record | check: survives
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.softsign(x.transpose(0, 1).contiguous())

def get_inputs():
    return [torch.randn(25, 34)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softsign_t(x, y, rows, cols, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    v = tl.load(x + r * cols + c, mask=r < rows)
    tl.store(y + c * rows + r, v / (1.0 + tl.abs(v)), mask=r < rows)


class ModelNew(nn.Module):
    out = None

    def forward(self, x):
        rows, cols = x.shape
        if self.out is None:
            self.out = x.new_empty(cols, rows)
        softsign_t[(cols,)](x, self.out, rows, cols, BLOCK=32)
        return self.out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softsign_t(x, y, rows, cols, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    v = tl.load(x + r * cols + c, mask=r < rows)
    tl.store(y + c * rows + r, v / (1.0 + tl.abs(v)), mask=r < rows)


class ModelNew(nn.Module):
    out = None

    def forward(self, x):
        rows, cols = x.shape
        out = self.out
        if out is None:
            out = x.new_empty(cols, rows)
        softsign_t[(cols,)](x, out, rows, cols, BLOCK=32)
        return out
