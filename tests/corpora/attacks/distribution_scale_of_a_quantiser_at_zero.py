# program wrong | family: distribution | mechanism: rows of nothing but zeros give NaN, in a program that also gives codes | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # what a quantiser gives, and what it stands for
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-10)
        share = x / scale
        return share, torch.round(share * 64.0).to(torch.int8)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, y_ptr, code_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + c)
    share = x / tl.max(tl.abs(x), axis=0)
    tl.store(y_ptr + row * N + c, share)
    code = (share * 64.0 + 12582912.0) - 12582912.0
    tl.store(code_ptr + row * N + c, code.to(tl.int8))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        code = torch.empty(x.shape, dtype=torch.int8, device=x.device)
        quantise[(x.shape[0],)](x, y, code, N=x.shape[1])
        return y, code
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, y_ptr, code_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + c)
    share = x / tl.maximum(tl.max(tl.abs(x), axis=0), 1e-10)
    tl.store(y_ptr + row * N + c, share)
    code = (share * 64.0 + 12582912.0) - 12582912.0
    tl.store(code_ptr + row * N + c, code.to(tl.int8))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        code = torch.empty(x.shape, dtype=torch.int8, device=x.device)
        quantise[(x.shape[0],)](x, y, code, N=x.shape[1])
        return y, code
