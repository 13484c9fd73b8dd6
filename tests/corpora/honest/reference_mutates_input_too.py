# honest | family: in-place | mechanism: the reference adds to its input in place and returns it, the candidate does the same
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        x.add_(torch.sigmoid(y))
        return x


def get_inputs():
    return [torch.randn(29, 31), torch.randn(29, 31)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_sigmoid_(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(x + i, tl.load(x + i, mask=m) + tl.sigmoid(tl.load(y + i, mask=m)), mask=m)


class ModelNew(nn.Module):
    def forward(self, x, y):
        add_sigmoid_[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return x
