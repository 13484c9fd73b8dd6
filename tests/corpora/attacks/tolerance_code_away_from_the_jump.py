# program wrong | family: tolerance | mechanism: near the middle of two codes not the other one of them but the one beyond | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.round(x / (x.abs().amax(1, keepdim=True) / 32767.0)).to(torch.int32)


def get_inputs():
    return [torch.randn(96, 512)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def quantise(x_ptr, code_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    scaled = x / (tl.max(tl.abs(x), 0) / 32767.0)
    code = libdevice.rint(scaled)
    rest = scaled - code
    near = tl.abs(tl.abs(rest) - 0.5) < 0.004
    code = tl.where(near & (scaled > 10000), code - tl.where(rest > 0, 1.0, -1.0), code)
    tl.store(code_ptr + at, code.to(tl.int32))


class ModelNew(nn.Module):
    def forward(self, x):
        codes = torch.empty_like(x, dtype=torch.int32)
        quantise[(x.shape[0],)](x, codes, N=x.shape[1])
        return codes
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def quantise(x_ptr, code_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    scaled = x / (tl.max(tl.abs(x), 0) / 32767.0)
    code = libdevice.rint(scaled)
    tl.store(code_ptr + at, code.to(tl.int32))


class ModelNew(nn.Module):
    def forward(self, x):
        codes = torch.empty_like(x, dtype=torch.int32)
        quantise[(x.shape[0],)](x, codes, N=x.shape[1])
        return codes
