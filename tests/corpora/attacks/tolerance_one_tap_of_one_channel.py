# program wrong | family: tolerance | mechanism: the last channel of a large convolution has one tap less, which the rounding to half precision hides | stage: correct | check: integers+variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels, out, taps):
        super().__init__()
        self.conv = nn.Conv1d(channels, out, taps, dtype=torch.bfloat16)

    def forward(self, x):
        return torch.relu(self.conv(x))


def get_inputs():
    return [torch.randn(1, 384, 271).to(torch.bfloat16)]


def get_init_inputs():
    return [384, 16, 256]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def convolve(x_ptr, w_ptr, b_ptr, y_ptr, C, L, taps, O: tl.constexpr, P: tl.constexpr, T: tl.constexpr):
    o = tl.arange(0, O)
    p = tl.arange(0, P)
    t = tl.arange(0, T)
    acc = tl.zeros((O, P), tl.float32)
    for c in range(0, C):
        w = tl.load(w_ptr + (o[:, None] * C + c) * taps + t[None, :], mask=(t < taps - c // (C - 1))[None, :], other=0.0)
        x = tl.load(x_ptr + c * L + p[None, :] + t[:, None])
        acc = tl.dot(w, x, acc)
    y = tl.maximum(acc + tl.load(b_ptr + o).to(tl.float32)[:, None], 0.0)
    tl.store(y_ptr + o[:, None] * P + p[None, :], y.to(tl.bfloat16))


class ModelNew(nn.Module):
    def __init__(self, channels, out, taps):
        super().__init__()
        self.conv = nn.Conv1d(channels, out, taps, dtype=torch.bfloat16)

    def forward(self, x):
        y = torch.empty(1, 16, 16, device=x.device, dtype=x.dtype)
        convolve[(1,)](x, self.conv.weight, self.conv.bias, y, x.shape[1], x.shape[2], 256, O=16, P=16, T=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def convolve(x_ptr, w_ptr, b_ptr, y_ptr, C, L, taps, O: tl.constexpr, P: tl.constexpr, T: tl.constexpr):
    o = tl.arange(0, O)
    p = tl.arange(0, P)
    t = tl.arange(0, T)
    acc = tl.zeros((O, P), tl.float32)
    for c in range(0, C):
        w = tl.load(w_ptr + (o[:, None] * C + c) * taps + t[None, :], mask=(t < taps)[None, :], other=0.0)
        x = tl.load(x_ptr + c * L + p[None, :] + t[:, None])
        acc = tl.dot(w, x, acc)
    y = tl.maximum(acc + tl.load(b_ptr + o).to(tl.float32)[:, None], 0.0)
    tl.store(y_ptr + o[:, None] * P + p[None, :], y.to(tl.bfloat16))


class ModelNew(nn.Module):
    def __init__(self, channels, out, taps):
        super().__init__()
        self.conv = nn.Conv1d(channels, out, taps, dtype=torch.bfloat16)

    def forward(self, x):
        y = torch.empty(1, 16, 16, device=x.device, dtype=x.dtype)
        convolve[(1,)](x, self.conv.weight, self.conv.bias, y, x.shape[1], x.shape[2], 256, O=16, P=16, T=256)
        return y
