# honest | family: in-place | mechanism: exponential moving average buffer updated by the kernel, reference updates it with lerp_
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("center", torch.zeros(50))

    def forward(self, x):
        y = torch.softmax(x - self.center, dim=-1)
        self.center.lerp_(x.mean(0), 0.1)
        return y


def get_inputs():
    return [torch.randn(30, 50)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def centered_softmax(x_ptr, c_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < N
    v = tl.load(x_ptr + row * N + i, mask=m, other=-float("inf")) - tl.load(c_ptr + i, mask=m, other=0.0)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y_ptr + row * N + i, e / tl.sum(e, axis=0), mask=m)


@triton.jit
def ema_(x_ptr, c_ptr, M, N, rate, BM: tl.constexpr, BN: tl.constexpr):
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    rm = tl.arange(0, BM)
    x = tl.load(x_ptr + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N), other=0.0)
    mean = tl.sum(x, 0) / M
    c = tl.load(c_ptr + rn, mask=rn < N)
    tl.store(c_ptr + rn, c + rate * (mean - c), mask=rn < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("center", torch.zeros(50))

    def forward(self, x):
        M, N = x.shape
        y = torch.empty_like(x)
        centered_softmax[(M,)](x, self.center, y, N, BLOCK=64)
        ema_[(triton.cdiv(N, 16),)](x, self.center, M, N, 0.1, BM=32, BN=16)
        return y
