# program wrong | family: tolerance | mechanism: codes computed in fp16 from 100 up are one less, where fp16 is coarse | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(dim=1, keepdim=True) / 127.0
        return torch.round(x / scale).clamp(-127, 127).to(torch.int8)


def get_inputs():
    return [torch.randn(96, 512).to(torch.float16)]


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
    x = tl.load(x_ptr + at).to(tl.float32)
    scale = (tl.max(tl.abs(x), 0) / 127.0).to(tl.float16).to(tl.float32)
    code = libdevice.rint((x / scale).to(tl.float16).to(tl.float32))
    code = tl.where(code >= 100.0, code - 1.0, code)
    code = tl.minimum(tl.maximum(code, -127.0), 127.0)
    tl.store(code_ptr + at, code.to(tl.int8))


class ModelNew(nn.Module):
    def forward(self, x):
        codes = torch.empty_like(x, dtype=torch.int8)
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
    x = tl.load(x_ptr + at).to(tl.float32)
    scale = (tl.max(tl.abs(x), 0) / 127.0).to(tl.float16).to(tl.float32)
    code = libdevice.rint((x / scale).to(tl.float16).to(tl.float32))
    code = tl.minimum(tl.maximum(code, -127.0), 127.0)
    tl.store(code_ptr + at, code.to(tl.int8))


class ModelNew(nn.Module):
    def forward(self, x):
        codes = torch.empty_like(x, dtype=torch.int8)
        quantise[(x.shape[0],)](x, codes, N=x.shape[1])
        return codes
