# honest | family: host | mechanism: ModelNew is a plain class with __call__ and no nn.Module
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.maximum(torch.sin(x), torch.cos(y))


def get_inputs():
    return [torch.randn(9, 44), torch.randn(9, 44)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sin_max_cos(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o_ptr + i, tl.maximum(tl.sin(tl.load(x_ptr + i, mask=m)), tl.cos(tl.load(y_ptr + i, mask=m))), mask=m)


class ModelNew:
    def __call__(self, x, y):
        out = torch.empty_like(x)
        sin_max_cos[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
        return out
