# honest | family: language | mechanism: names imported from triton and triton.language directly, module alias other than tl
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.clamp(x * 1.5 + 0.25, -1.0, 1.0)


def get_inputs():
    return [torch.randn(333)]


def get_init_inputs():
    return []
# %% candidate
import torch
from torch import nn
from triton import cdiv, jit
import triton.language as T
from triton.language import constexpr, program_id, arange


@jit
def affine_clamp(x_ptr, y_ptr, n, BLOCK: constexpr):
    i = program_id(0) * BLOCK + arange(0, BLOCK)
    x = T.load(x_ptr + i, mask=i < n)
    T.store(y_ptr + i, T.clamp(T.fma(x, 1.5, 0.25), -1.0, 1.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        affine_clamp[cdiv(x.numel(), 64),](x, y, x.numel(), BLOCK=64)
        return y
