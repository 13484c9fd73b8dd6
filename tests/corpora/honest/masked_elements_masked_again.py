# honest | family: language | mechanism: a load has no value beyond its mask, and neither a sum nor a store takes one
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)


def get_inputs():
    return [torch.randn(48, 50)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    keep = c < C
    x = tl.load(x_ptr + row * C + c, mask=keep)
    e = tl.where(keep, tl.exp(x - tl.max(tl.where(keep, x, float("-inf")), 0)), 0.0)
    tl.store(y_ptr + row * C + c, e / tl.sum(e, 0), mask=keep)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax[(48,)](x, y, 50, BLOCK=64)
        return y
