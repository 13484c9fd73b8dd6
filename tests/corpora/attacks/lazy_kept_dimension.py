# program wrong | family: lazy | mechanism: the reduced dimension is kept with size one | stage: correct | check: interface+outputs
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.linalg.vector_norm(x, dim=-1)

def get_inputs():
    return [torch.randn(72, 26)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norms(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    tl.store(y + row, tl.sqrt(tl.sum(v * v, axis=0)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0], 1)
        norms[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norms(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    tl.store(y + row, tl.sqrt(tl.sum(v * v, axis=0)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0], 1)
        norms[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
        return y.squeeze(1)
