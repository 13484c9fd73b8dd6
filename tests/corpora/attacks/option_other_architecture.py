# program wrong | family: launch-option | mechanism: the kernel is compiled for another architecture than the device's | stage: record | check: option
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.clamp(x, -0.75, 0.75) - x

def get_inputs():
    return [torch.randn(50, 19)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clip_residual(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.clamp(v, -0.75, 0.75) - v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel = clip_residual[(triton.cdiv(x.numel(), 64),)]
        kernel(x, y, x.numel(), BLOCK=64, num_warps=1, arch="sm80")
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clip_residual(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.clamp(v, -0.75, 0.75) - v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel = clip_residual[(triton.cdiv(x.numel(), 64),)]
        kernel(x, y, x.numel(), BLOCK=64, num_warps=1)
        return y
