# honest | family: language | mechanism: tl.reduce over a tuple (value, index) with an own combine function
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        score = x * x - 0.3 * x
        best, where = score.max(dim=1)
        return best, where


def get_inputs():
    return [torch.randn(44, 90)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def keep_best(v0, i0, v1, i1):
    take_first = (v0 > v1) | ((v0 == v1) & (i0 < i1))
    return tl.where(take_first, v0, v1), tl.where(take_first, i0, i1)


@triton.jit
def row_best(x_ptr, val_ptr, idx_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    score = tl.where(c < N, x * x - 0.3 * x, float("-inf"))
    best, where = tl.reduce((score, c), axis=0, combine_fn=keep_best)
    tl.store(val_ptr + row, best)
    tl.store(idx_ptr + row, where.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        M, N = x.shape
        values = torch.empty(M, device=x.device, dtype=x.dtype)
        indices = torch.empty(M, device=x.device, dtype=torch.long)
        row_best[(M,)](x, values, indices, N, BLOCK=triton.next_power_of_2(N))
        return values, indices
