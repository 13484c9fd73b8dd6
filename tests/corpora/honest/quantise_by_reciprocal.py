# honest | family: precision | mechanism: int8 codes of rows and what they stand for, scaled by the reciprocal where the reference divides, so that near ties fall either way
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(dim=1, keepdim=True) / 127.0
        codes = torch.round(x / scale).clamp(-127, 127)
        return codes.to(torch.int8), codes * scale


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
def quantise(x_ptr, code_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    at = row * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    most = tl.max(tl.abs(x), 0)
    code = libdevice.rint(x * (127.0 / most))
    tl.store(code_ptr + at, code.to(tl.int8))
    tl.store(y_ptr + at, code * (most / 127.0))


class ModelNew(nn.Module):
    def forward(self, x):
        codes = torch.empty_like(x, dtype=torch.int8)
        y = torch.empty_like(x)
        quantise[(x.shape[0],)](x, codes, y, N=x.shape[1])
        return codes, y
