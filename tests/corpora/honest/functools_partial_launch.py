# honest | family: host | mechanism: functools.partial fixes the launch's constexprs, lru_cache picks the block
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.softmin(x, dim=-1)


def get_inputs():
    return [torch.randn(28, 58)]


def get_init_inputs():
    return []
# %% candidate
import functools

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmin_row(x_ptr, y_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + c, mask=c < N, other=float("inf"))
    e = tl.exp(tl.min(x, axis=0) - x)
    tl.store(y_ptr + row * stride + c, e / tl.sum(e, axis=0), mask=c < N)


@functools.lru_cache(maxsize=None)
def launcher(rows, cols):
    block = triton.next_power_of_2(cols)
    return functools.partial(softmin_row[(rows,)], BLOCK=block, num_warps=4 if block > 32 else 1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        launcher(*x.shape)(x, y, x.stride(0), x.shape[1])
        return y
