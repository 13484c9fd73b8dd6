# honest | family: language | mechanism: while loop in the kernel: Newton steps until a fixed count
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sqrt(x * x + 1.0)


def get_inputs():
    return [torch.randn(20, 70)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def newton(x_ptr, y_ptr, n, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    s = x * x + 1.0
    y = tl.abs(x) + 1.0
    k = 0
    while k < steps:
        y = 0.5 * (y + s / y)
        k += 1
    tl.store(y_ptr + i, y, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        newton[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), 6, BLOCK=128)
        return y
