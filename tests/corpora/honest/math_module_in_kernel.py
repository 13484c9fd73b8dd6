# honest | family: language | mechanism: math.pi and math.sqrt of constants from Python's math module through constexpr globals
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(-0.5 * x * x) / (2 * torch.pi) ** 0.5


def get_inputs():
    return [torch.randn(19, 39)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


import math

INV_SQRT_2PI = tl.constexpr(1.0 / math.sqrt(2.0 * math.pi))
ACC = tl.float32


@triton.jit
def normal_pdf(x_ptr, y_ptr, n, BLOCK: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(ACC)
    tl.store(y_ptr + i, tl.exp(-0.5 * x * x) * INV_SQRT_2PI, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        normal_pdf[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
