# honest | family: shapes | mechanism: one of two inputs has zero rows, launch skipped for it by its grid
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, empty):
        return torch.relu(x) - 1, torch.relu(empty) - 1


def get_inputs():
    return [torch.randn(12, 30), torch.randn(0, 30)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_minus(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i, mask=i < n), 0.0) - 1, mask=i < n)


def apply(x):
    y = torch.empty_like(x)
    if y.numel():
        relu_minus[(triton.cdiv(y.numel(), 128),)](x, y, y.numel(), B=128)
    return y


class ModelNew(nn.Module):
    def forward(self, x, empty):
        return apply(x), apply(empty)
