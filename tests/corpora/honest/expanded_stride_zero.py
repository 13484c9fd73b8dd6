# honest | family: shapes | mechanism: operand expanded with stride zero, kernel reads it through its strides
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, bias):
        return torch.tanh(x + bias.expand(x.shape[0], -1, x.shape[2]))


def get_inputs():
    return [torch.randn(4, 15, 19), torch.randn(15, 1)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra.cuda import libdevice


@triton.jit
def add_tanh(x, b, y, T, D, sb0, sb1, sb2, BLOCK: tl.constexpr):
    n = tl.program_id(0)
    t = tl.program_id(1)
    d = tl.arange(0, BLOCK)
    i = (n * T + t) * D + d
    v = tl.load(x + i, mask=d < D) + tl.load(b + n * sb0 + t * sb1 + d * sb2, mask=d < D)
    tl.store(y + i, libdevice.tanh(v), mask=d < D)


class ModelNew(nn.Module):
    def forward(self, x, bias):
        wide = bias.expand(x.shape[0], -1, x.shape[2])
        y = torch.empty_like(x)
        add_tanh[(x.shape[0], x.shape[1])](x, wide, y, x.shape[1], x.shape[2], *wide.stride(), BLOCK=32)
        return y
