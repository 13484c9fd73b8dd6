# honest | family: in-place | mechanism: swap of halves through one temporary buffer, updated in place over overlapping program ranges
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        return torch.cat([b + a, a - b], dim=1)


def get_inputs():
    return [torch.randn(15, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def butterfly_(x_ptr, HALF, BLOCK: tl.constexpr):
    row = x_ptr + tl.program_id(0) * 2 * HALF
    c = tl.arange(0, BLOCK)
    m = c < HALF
    a = tl.load(row + c, mask=m)
    b = tl.load(row + HALF + c, mask=m)
    tl.store(row + c, a + b, mask=m)
    tl.store(row + HALF + c, a - b, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.clone()
        butterfly_[(y.shape[0],)](y, y.shape[1] // 2, BLOCK=32)
        return y
