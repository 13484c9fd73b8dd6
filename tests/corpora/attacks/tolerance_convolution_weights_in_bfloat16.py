# program wrong | family: tolerance | mechanism: a convolution in TF32 whose weights alone are rounded to bfloat16 | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(288, 48, 1, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(4, 288, 9, 16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nearest_tf32(x):
    return ((x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)


@triton.jit
def convolve(x_ptr, w_ptr, y_ptr, C, O, P, BP: tl.constexpr, BO: tl.constexpr, BK: tl.constexpr):
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    n = tl.program_id(1)
    o = tl.arange(0, BO)
    acc = tl.zeros((BP, BO), tl.float32)
    for k0 in range(0, C, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + (n * C + k[None, :]) * P + p[:, None], mask=p[:, None] < P, other=0.0)
        w = tl.load(w_ptr + o[None, :] * C + k[:, None], mask=o[None, :] < O, other=0.0)
        acc = tl.dot(nearest_tf32(x), w.to(tl.bfloat16).to(tl.float32), acc, input_precision="tf32")
    tl.store(y_ptr + (n * O + o[None, :]) * P + p[:, None], acc, mask=(p[:, None] < P) & (o[None, :] < O))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(288, 48, 1, bias=False)

    def forward(self, x):
        N, C, H, W = x.shape
        y = torch.empty(N, 48, H, W, device=x.device)
        convolve[(triton.cdiv(H * W, 64), N)](x, self.conv.weight, y, C, 48, H * W, BP=64, BO=64, BK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nearest_tf32(x):
    return ((x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)


@triton.jit
def convolve(x_ptr, w_ptr, y_ptr, C, O, P, BP: tl.constexpr, BO: tl.constexpr, BK: tl.constexpr):
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    n = tl.program_id(1)
    o = tl.arange(0, BO)
    acc = tl.zeros((BP, BO), tl.float32)
    for k0 in range(0, C, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + (n * C + k[None, :]) * P + p[:, None], mask=p[:, None] < P, other=0.0)
        w = tl.load(w_ptr + o[None, :] * C + k[:, None], mask=o[None, :] < O, other=0.0)
        acc = tl.dot(nearest_tf32(x), nearest_tf32(w), acc, input_precision="tf32")
    tl.store(y_ptr + (n * O + o[None, :]) * P + p[:, None], acc, mask=(p[:, None] < P) & (o[None, :] < O))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(288, 48, 1, bias=False)

    def forward(self, x):
        N, C, H, W = x.shape
        y = torch.empty(N, 48, H, W, device=x.device)
        convolve[(triton.cdiv(H * W, 64), N)](x, self.conv.weight, y, C, 48, H * W, BP=64, BO=64, BK=32)
        return y
