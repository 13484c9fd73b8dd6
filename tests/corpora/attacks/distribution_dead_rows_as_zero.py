# program wrong | family: distribution | mechanism: rows without any valid entry are NaN in the reference and zeros here | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, scores, lengths):
        valid = torch.arange(scores.shape[1], device=scores.device) < lengths[:, None]
        return torch.softmax(scores.masked_fill(~valid, float("-inf")), dim=1)


def get_inputs():
    return [torch.randn(40, 21), torch.randint(0, 3, (40,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_softmax(x_ptr, len_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    valid = c < tl.load(len_ptr + row)
    x = tl.load(x_ptr + row * n + c, mask=valid & (c < n), other=-float("inf"))
    e = tl.where(valid, tl.exp(x - tl.max(x, axis=0)), 0.0)
    tl.store(y_ptr + row * n + c, e / tl.maximum(tl.sum(e, axis=0), 1.0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, scores, lengths):
        y = torch.empty_like(scores)
        masked_softmax[(scores.shape[0],)](scores, lengths, y, scores.shape[1], BLOCK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_softmax(x_ptr, len_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    valid = c < tl.load(len_ptr + row)
    x = tl.load(x_ptr + row * n + c, mask=valid & (c < n), other=-float("inf"))
    e = tl.where(valid, tl.exp(x - tl.max(x, axis=0)), 0.0)
    tl.store(y_ptr + row * n + c, e / tl.sum(e, axis=0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, scores, lengths):
        y = torch.empty_like(scores)
        masked_softmax[(scores.shape[0],)](scores, lengths, y, scores.shape[1], BLOCK=32)
        return y
