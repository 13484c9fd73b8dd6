# program wrong | family: distribution | mechanism: the model keeps sums of its weight, and the candidate makes them of the weight again | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) * 0.1)
        self.register_buffer("sums", self.weight.detach().sum(1))

    def forward(self, x):
        return torch.tanh(x @ self.weight.t()) - x * self.sums


def get_inputs():
    return [torch.randn(48, 64)]


def get_init_inputs():
    return [64]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer(x_ptr, w_ptr, y_ptr, K: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, K)
    x = tl.load(x_ptr + row * K + k)
    w = tl.load(w_ptr + k[:, None] * K + k[None, :])
    product = tl.sum(x[None, :] * w, axis=1)
    tl.store(y_ptr + row * K + k, 2.0 * tl.sigmoid(2.0 * product) - 1.0 - x * tl.sum(w, axis=1))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) * 0.1)
        self.register_buffer("sums", self.weight.detach().sum(1))

    def forward(self, x):
        y = torch.empty_like(x)
        layer[(x.shape[0],)](x, self.weight, y, K=x.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer(x_ptr, w_ptr, sums_ptr, y_ptr, K: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, K)
    x = tl.load(x_ptr + row * K + k)
    w = tl.load(w_ptr + k[:, None] * K + k[None, :])
    product = tl.sum(x[None, :] * w, axis=1)
    tl.store(y_ptr + row * K + k, 2.0 * tl.sigmoid(2.0 * product) - 1.0 - x * tl.load(sums_ptr + k))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) * 0.1)
        self.register_buffer("sums", self.weight.detach().sum(1))

    def forward(self, x):
        y = torch.empty_like(x)
        layer[(x.shape[0],)](x, self.weight, self.sums, y, K=x.shape[1])
        return y
