# honest | family: host | mechanism: triton.jit called on a plain function at module level instead of a decorator
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.rsqrt(1.0 + x.square())


def get_inputs():
    return [torch.randn(12, 71)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


def _inverse_hypot(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.rsqrt(1.0 + x * x), mask=i < n)


inverse_hypot = triton.jit(_inverse_hypot)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        inverse_hypot[(triton.cdiv(x.numel(), 256), 1, 1)](x, y, x.numel(), BLOCK=256)
        return y
