# program wrong | family: tolerance | mechanism: the nearest code by distances whose products have operands in half precision | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(codes, width))

    def forward(self, x):
        distance = (x * x).sum(-1, keepdim=True) - 2 * (x @ self.codes.t()) + (self.codes * self.codes).sum(-1)
        return torch.argmin(distance, dim=-1).view(8, 16)


def get_inputs():
    return [torch.randn(128, 32)]


def get_init_inputs():
    return [256, 32]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nearest(x_ptr, c_ptr, y_ptr, C: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + m[:, None] * D + d[None, :])
    w = tl.load(c_ptr + c[None, :] * D + d[:, None])
    # What all codes of a row have in common changes no order.
    product = tl.dot(x.to(tl.bfloat16), w.to(tl.bfloat16), input_precision="ieee")
    norm = tl.sum(w.to(tl.float32) * w.to(tl.float32), 0)
    tl.store(y_ptr + m, tl.argmin(norm[None, :] - 2 * product, 1).to(tl.int64))


class ModelNew(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(codes, width))

    def forward(self, x):
        y = torch.empty(8, 16, device=x.device, dtype=torch.int64)
        nearest[(8,)](x, self.codes, y, C=256, D=32, B=16)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nearest(x_ptr, c_ptr, y_ptr, C: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + m[:, None] * D + d[None, :])
    w = tl.load(c_ptr + c[None, :] * D + d[:, None])
    # What all codes of a row have in common changes no order.
    product = tl.dot(x, w, input_precision="ieee")
    norm = tl.sum(w.to(tl.float32) * w.to(tl.float32), 0)
    tl.store(y_ptr + m, tl.argmin(norm[None, :] - 2 * product, 1).to(tl.int64))


class ModelNew(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(codes, width))

    def forward(self, x):
        y = torch.empty(8, 16, device=x.device, dtype=torch.int64)
        nearest[(8,)](x, self.codes, y, C=256, D=32, B=16)
        return y
