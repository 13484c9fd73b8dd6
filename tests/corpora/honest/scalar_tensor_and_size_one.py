# honest | family: shapes | mechanism: zero-dimensional tensor input, size-one dimensions, zero-dimensional result by reshape
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, t):
        y = torch.exp(-x * x * t)
        return y, y.sum()


def get_inputs():
    return [torch.randn(1, 77, 1), torch.rand(()) + 0.5]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gauss(x_ptr, t_ptr, y_ptr, s_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tl.exp(-x * x * tl.load(t_ptr))
    tl.store(y_ptr + i, y, mask=i < n)
    tl.store(s_ptr, tl.sum(tl.where(i < n, y, 0.0), axis=0))


class ModelNew(nn.Module):
    def forward(self, x, t):
        y = torch.empty_like(x)
        s = torch.empty(1, device=x.device)
        gauss[(1,)](x, t, y, s, x.numel(), BLOCK=128)
        return y, s.squeeze(0)
