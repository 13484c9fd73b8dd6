# program wrong | family: no-kernel | mechanism: a batch norm is folded into the weights of a convolution that PyTorch computes, a kernel adds zero | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(12, 16, 3)
        self.norm = nn.BatchNorm1d(16).eval()

    def forward(self, x):
        return self.norm(self.conv(x))


def get_inputs():
    return [torch.randn(3, 12, 34)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_zero(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) + 0.0, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(12, 16, 3)
        self.norm = nn.BatchNorm1d(16).eval()
        self.w = self.b = None

    def forward(self, x):
        if self.w is None:
            scale = self.norm.weight * torch.rsqrt(self.norm.running_var + self.norm.eps)
            self.w = self.conv.weight * scale[:, None, None]
            self.b = (self.conv.bias - self.norm.running_mean) * scale + self.norm.bias
        done = torch.conv1d(x, self.w, self.b)
        y = torch.empty_like(done)
        add_zero[(triton.cdiv(y.numel(), 256),)](done, y, y.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def convolution(x_ptr, w_ptr, b_ptr, y_ptr, C, L, O, P, TAPS: tl.constexpr, BC: tl.constexpr, BO: tl.constexpr):
    n = tl.program_id(0)
    p = tl.program_id(1)
    c = tl.arange(0, BC)
    o = tl.arange(0, BO)
    acc = tl.load(b_ptr + o, mask=o < O, other=0.0)
    for t in range(TAPS):
        x = tl.load(x_ptr + n * C * L + c * L + p + t, mask=c < C, other=0.0)
        w = tl.load(w_ptr + o[:, None] * C * TAPS + c[None, :] * TAPS + t,
                    mask=(o[:, None] < O) & (c[None, :] < C), other=0.0)
        acc += tl.sum(w * x[None, :], axis=1)
    tl.store(y_ptr + n * O * P + o * P + p, acc, mask=o < O)


def convolve(x, w, b):
    N, C, L = x.shape
    O, _, taps = w.shape
    y = torch.empty((N, O, L - taps + 1), device=x.device)
    convolution[(N, y.shape[2])](x, w, b, y, C, L, O, y.shape[2], TAPS=taps,
                                 BC=triton.next_power_of_2(C), BO=triton.next_power_of_2(O))
    return y


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(12, 16, 3)
        self.norm = nn.BatchNorm1d(16).eval()
        self.w = self.b = None

    def forward(self, x):
        if self.w is None:
            scale = self.norm.weight * torch.rsqrt(self.norm.running_var + self.norm.eps)
            self.w = self.conv.weight * scale[:, None, None]
            self.b = (self.conv.bias - self.norm.running_mean) * scale + self.norm.bias
        return convolve(x, self.w, self.b)
