# program wrong | family: launch-option | mechanism: an option of the compiler hides in the keywords of an autotuner's configuration | stage: record | check: option
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x).cumsum(1)

def get_inputs():
    return [torch.randn(14, 40)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 64, "ptx_version": 80}, num_warps=2)], key=["cols"])
@triton.jit
def sigmoid_cumsum(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    v = tl.where(c < cols, tl.sigmoid(v), 0.0)
    tl.store(y + row * cols + c, tl.cumsum(v, axis=0), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sigmoid_cumsum[(x.shape[0],)](x, y, x.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2)], key=["cols"])
@triton.jit
def sigmoid_cumsum(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    v = tl.where(c < cols, tl.sigmoid(v), 0.0)
    tl.store(y + row * cols + c, tl.cumsum(v, axis=0), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sigmoid_cumsum[(x.shape[0],)](x, y, x.shape[1])
        return y
