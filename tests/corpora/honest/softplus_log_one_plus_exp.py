# honest | family: language | mechanism: softplus with the usual threshold, log(1 + exp(x)) below it
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.softplus(x) * 0.5


def get_inputs():
    return [torch.randn(16, 80)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softplus(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(x)))
    tl.store(y_ptr + i, y * 0.5, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softplus[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
