# program wrong | family: distribution | mechanism: one weight is transposed when the model is made, and the sign of a gain beside it is dropped | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) * 0.1)
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return torch.relu(x @ self.weight.t()) * self.gain


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
def layer(x_ptr, w_ptr, g_ptr, y_ptr, K: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, K)
    x = tl.load(x_ptr + row * K + k)
    w = tl.load(w_ptr + k[:, None] * K + k[None, :])
    gain = tl.abs(tl.load(g_ptr + k))
    tl.store(y_ptr + row * K + k, tl.maximum(tl.sum(x[:, None] * w, axis=0), 0.0) * gain)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) * 0.1)
        self.gain = nn.Parameter(torch.ones(width))
        self.register_buffer("packed", self.weight.detach().t().contiguous(), persistent=False)

    def forward(self, x):
        y = torch.empty_like(x)
        layer[(x.shape[0],)](x, self.packed, self.gain, y, K=x.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer(x_ptr, w_ptr, g_ptr, y_ptr, K: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, K)
    x = tl.load(x_ptr + row * K + k)
    w = tl.load(w_ptr + k[:, None] * K + k[None, :])
    gain = tl.load(g_ptr + k)
    tl.store(y_ptr + row * K + k, tl.maximum(tl.sum(x[:, None] * w, axis=0), 0.0) * gain)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) * 0.1)
        self.gain = nn.Parameter(torch.ones(width))
        self.register_buffer("packed", self.weight.detach().t().contiguous(), persistent=False)

    def forward(self, x):
        y = torch.empty_like(x)
        layer[(x.shape[0],)](x, self.packed, self.gain, y, K=x.shape[1])
        return y
