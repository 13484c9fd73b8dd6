# program wrong | family: reference-copy | mechanism: the reference's formula for one row is mapped over the batch by torch.func.vmap | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x, w):
        return torch.sin(x * w).prod(dim=1)

def get_inputs():
    return [torch.rand(35, 12) + 1.0, torch.rand(12) + 0.5]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def emit_kernel(src, dst, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + i, tl.load(src + i, mask=i < n), mask=i < n)


def one_row(row, w):
    return torch.sin(row * w).prod(dim=0)


class ModelNew(nn.Module):
    def forward(self, x, w):
        y = torch.func.vmap(one_row, in_dims=(0, None))(x, w)
        out = torch.empty_like(y)
        emit_kernel[(1,)](y, out, y.numel(), BLOCK=64)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def one_row(x, w, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0) * tl.load(w + c, mask=c < cols, other=0.0)
    tl.store(out + row, tl.reduce(tl.where(c < cols, tl.sin(v), 1.0), 0, times))


class ModelNew(nn.Module):
    def forward(self, x, w):
        out = x.new_empty(x.shape[0])
        one_row[(x.shape[0],)](x, w, out, x.shape[1], BLOCK=16)
        return out
