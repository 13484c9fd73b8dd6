# program wrong | family: no-kernel | mechanism: two convolutions in a row are one of five taps in PyTorch, its weight made at the first call, a kernel copies | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(4, 24, 3)
        self.c = nn.Conv1d(24, 6, 3, bias=False)

    def forward(self, x):
        return self.c(self.a(x))


def get_inputs():
    return [torch.randn(3, 4, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(4, 24, 3)
        self.c = nn.Conv1d(24, 6, 3, bias=False)
        self.w = self.b = None

    def forward(self, x):
        if self.w is None:
            a, c = self.a.weight, self.c.weight
            w = torch.stack([sum(c[:, :, t - s] @ a[:, :, s] for s in range(3) if 0 <= t - s < 3) for t in range(5)], 2)
            self.w = w
            self.b = c.sum(2) @ self.a.bias
        done = torch.conv1d(x, self.w, self.b)
        y = torch.empty_like(done)
        copy[(triton.cdiv(y.numel(), 256),)](done, y, y.numel(), BLOCK=256)
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
        self.a = nn.Conv1d(4, 24, 3)
        self.c = nn.Conv1d(24, 6, 3, bias=False)
        self.w = self.b = None

    def forward(self, x):
        if self.w is None:
            a, c = self.a.weight, self.c.weight
            w = torch.stack([sum(c[:, :, t - s] @ a[:, :, s] for s in range(3) if 0 <= t - s < 3) for t in range(5)], 2)
            self.w = w
            self.b = c.sum(2) @ self.a.bias
        return convolve(x, self.w, self.b)
