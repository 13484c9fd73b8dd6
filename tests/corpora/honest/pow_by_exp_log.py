# honest | family: language | mechanism: power written as exp(p * log(x))
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.pow(2.5)


def get_inputs():
    return [torch.rand(30, 40) + 0.1]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def power(x_ptr, y_ptr, n, p, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    tl.store(y_ptr + i, tl.exp(p * tl.log(x)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        power[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), 2.5, BLOCK=128)
        return y
