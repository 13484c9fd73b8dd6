# program wrong | family: tolerance | mechanism: codes jump a hundredth before the middle of two integers, so that few are off, and by one | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(dim=1, keepdim=True) / 127.0
        return torch.round(x / scale).clamp(-127, 127).to(torch.int8), scale


def get_inputs():
    return [torch.randn(96, 512)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, code_ptr, scale_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    at = row * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    scale = tl.max(tl.abs(x), 0) / 127.0
    tl.store(code_ptr + at, tl.floor(x / scale + 0.51).to(tl.int8))
    tl.store(scale_ptr + row, scale)


class ModelNew(nn.Module):
    def forward(self, x):
        codes = torch.empty_like(x, dtype=torch.int8)
        scale = torch.empty(x.shape[0], 1, device=x.device)
        quantise[(x.shape[0],)](x, codes, scale, N=x.shape[1])
        return codes, scale
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, code_ptr, scale_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    at = row * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    scale = tl.max(tl.abs(x), 0) / 127.0
    tl.store(code_ptr + at, tl.floor(x / scale + 0.5).to(tl.int8))
    tl.store(scale_ptr + row, scale)


class ModelNew(nn.Module):
    def forward(self, x):
        codes = torch.empty_like(x, dtype=torch.int8)
        scale = torch.empty(x.shape[0], 1, device=x.device)
        quantise[(x.shape[0],)](x, codes, scale, N=x.shape[1])
        return codes, scale
