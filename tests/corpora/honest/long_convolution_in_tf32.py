# honest | family: precision | mechanism: a convolution of 8192 channels in TF32: of inputs of one sign all sums are cut off to the same side
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8192, 48, 1)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(2, 8192, 5, 8)]


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
def convolve(x_ptr, w_ptr, b_ptr, y_ptr, C, O, P, BP: tl.constexpr, BO: tl.constexpr, BK: tl.constexpr):
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    n = tl.program_id(1)
    o = tl.arange(0, BO)
    acc = tl.zeros((BP, BO), tl.float32)
    for k0 in range(0, C, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + (n * C + k[None, :]) * P + p[:, None], mask=p[:, None] < P, other=0.0)
        w = tl.load(w_ptr + o[None, :] * C + k[:, None], mask=o[None, :] < O, other=0.0)
        acc = tl.dot(nearest_tf32(x), nearest_tf32(w), acc, input_precision="tf32")
    acc += tl.load(b_ptr + o, mask=o < O, other=0.0)[None, :]
    tl.store(y_ptr + (n * O + o[None, :]) * P + p[:, None], acc, mask=(p[:, None] < P) & (o[None, :] < O))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8192, 48, 1)

    def forward(self, x):
        N, C, H, W = x.shape
        y = torch.empty(N, 48, H, W, device=x.device)
        convolve[(triton.cdiv(H * W, 32), N)](x, self.conv.weight, self.conv.bias, y, C, 48, H * W, BP=32, BO=64, BK=64)
        return y
