# program wrong | family: distribution | mechanism: a row whose mask is empty divides by a sum of zero | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # scores that are masked get a large negative number
    def forward(self, scores, mask):
        return torch.softmax(scores.masked_fill(~mask, -1e4), -1)


def get_inputs():
    return [torch.randn(64, 64), torch.rand(64, 64) > 0.4]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_softmax(x_ptr, m_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    keep = tl.load(m_ptr + row * N + c) != 0
    x = tl.where(keep, tl.load(x_ptr + row * N + c), float("-inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * N + c, e / tl.sum(e, axis=0))


class ModelNew(nn.Module):
    def forward(self, scores, mask):
        y = torch.empty_like(scores)
        masked_softmax[(scores.shape[0],)](scores, mask, y, N=scores.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_softmax(x_ptr, m_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    keep = tl.load(m_ptr + row * N + c) != 0
    x = tl.where(keep, tl.load(x_ptr + row * N + c), -1e4)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * N + c, e / tl.sum(e, axis=0))


class ModelNew(nn.Module):
    def forward(self, scores, mask):
        y = torch.empty_like(scores)
        masked_softmax[(scores.shape[0],)](scores, mask, y, N=scores.shape[1])
        return y
