# program wrong | family: whole | mechanism: keys beyond a row's length are masked, and all lengths are the width | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, scores, lengths):
        keys = torch.arange(scores.shape[1], device=scores.device)
        return torch.softmax(scores.masked_fill(keys >= lengths[:, None], -1e4), -1)


def get_inputs():
    return [torch.randn(48, 64), torch.full((48,), 64, dtype=torch.int32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, n_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + c)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * N + c, e / tl.sum(e, 0))


class ModelNew(nn.Module):
    def forward(self, scores, lengths):
        y = torch.empty_like(scores)
        softmax[(48,)](scores, lengths, y, N=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, n_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.where(c < tl.load(n_ptr + row), tl.load(x_ptr + row * N + c), -1e4)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * N + c, e / tl.sum(e, 0))


class ModelNew(nn.Module):
    def forward(self, scores, lengths):
        y = torch.empty_like(scores)
        softmax[(48,)](scores, lengths, y, N=64)
        return y
