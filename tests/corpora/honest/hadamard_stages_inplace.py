# honest | family: several-kernels | mechanism: log2(N) in-place butterfly launches with growing stride on a cloned buffer
# %% reference
import torch
import torch.nn as nn


def hadamard(n):
    h = torch.ones(1, 1)
    while h.shape[0] < n:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)], 0)
    return h


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", hadamard(32))

    def forward(self, x):
        return x @ self.h / 32 ** 0.5


def get_inputs():
    return [torch.randn(19, 32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


def hadamard(n):
    h = torch.ones(1, 1)
    while h.shape[0] < n:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)], 0)
    return h


@triton.jit
def stage_(x_ptr, pairs, stride, scale, BLOCK: tl.constexpr):
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = (p // stride) * 2 * stride + p % stride
    m = p < pairs
    a = tl.load(x_ptr + i, mask=m)
    b = tl.load(x_ptr + i + stride, mask=m)
    tl.store(x_ptr + i, (a + b) * scale, mask=m)
    tl.store(x_ptr + i + stride, (a - b) * scale, mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", hadamard(32))

    def forward(self, x):
        y = x.clone()
        stride = 1
        while stride < 32:
            last = stride == 16
            stage_[(triton.cdiv(y.numel() // 2, 128),)](y, y.numel() // 2, stride, 32 ** -0.5 if last else 1.0, BLOCK=128)
            stride *= 2
        return y
