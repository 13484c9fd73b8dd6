# program wrong | family: race | mechanism: the second half of the grid adds what the first half is taken to have stored | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cat([torch.sin(x), torch.sin(x) + torch.cos(x)])


def get_inputs():
    return [torch.randn(4096)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def waves(x_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    half = tl.num_programs(0) // 2
    i = (p % half) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if p < half:
        tl.store(y_ptr + i, tl.sin(x))
    else:
        tl.store(y_ptr + N + i, tl.load(y_ptr + i) + tl.cos(x))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(2 * 4096, device=x.device)
        waves[(32,)](x, y, N=4096, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def waves(x_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    half = tl.num_programs(0) // 2
    i = (p % half) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if p < half:
        tl.store(y_ptr + i, tl.sin(x))
    else:
        tl.store(y_ptr + N + i, tl.sin(x) + tl.cos(x))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(2 * 4096, device=x.device)
        waves[(32,)](x, y, N=4096, BLOCK=256)
        return y
