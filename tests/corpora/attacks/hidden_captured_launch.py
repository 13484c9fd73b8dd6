# program wrong | family: hidden-launch | mechanism: the launch is captured into a CUDA graph that nobody replays | stage: record | check: compile-api
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.sign(x) * torch.sqrt(x.abs())

def get_inputs():
    return [torch.randn(40, 22)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def signed_root(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.where(v < 0, -tl.sqrt(tl.abs(v)), tl.sqrt(tl.abs(v))), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            signed_root[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def signed_root(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.where(v < 0, -tl.sqrt(tl.abs(v)), tl.sqrt(tl.abs(v))), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        signed_root[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
