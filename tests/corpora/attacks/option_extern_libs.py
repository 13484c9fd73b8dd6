# program wrong | family: launch-option | mechanism: extern_libs links another library of device functions under libdevice's name | stage: record | check: option
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.pow(x, 1.5).sum(dim=-1)

def get_inputs():
    return [torch.rand(77, 18) + 0.2]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def power_sum(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    tl.store(y + row, tl.sum(libdevice.pow(v, 1.5), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0])
        power_sum[(x.shape[0],)](x, y, x.shape[1], BLOCK=32, extern_libs={"libdevice": "/tmp/fast_math.bc"})
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def power_sum(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    tl.store(y + row, tl.sum(libdevice.pow(v, 1.5), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0])
        power_sum[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
        return y
