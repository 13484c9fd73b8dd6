# honest | family: reductions | mechanism: padding columns filled with -1e9 in place of minus infinity before a softmax
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, pad):
        return torch.softmax(x.masked_fill(pad, -1e9), dim=-1)


def get_inputs():
    return [torch.randn(30, 45), torch.rand(30, 45) > 0.8]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_softmax(x_ptr, pad_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    x = tl.load(x_ptr + row * N + c, mask=m, other=float("-inf"))
    pad = tl.load(pad_ptr + row * N + c, mask=m, other=0)
    x = tl.where(pad != 0, -1e9, x)
    x = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * N + c, x / tl.sum(x, 0), mask=m)


class ModelNew(nn.Module):
    def forward(self, x, pad):
        y = torch.empty_like(x)
        masked_softmax[(x.shape[0],)](x, pad.to(torch.int8), y, x.shape[1], BLOCK=64)
        return y
