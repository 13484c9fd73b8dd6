# honest | family: language | mechanism: tl.sort along the last axis of a padded row
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sort(torch.sin(x), dim=-1).values


def get_inputs():
    return [torch.randn(17, 28)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sort_rows(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.sin(tl.load(x_ptr + row * N + c, mask=c < N, other=0.0))
    x = tl.where(c < N, x, float("inf"))
    tl.store(y_ptr + row * N + c, tl.sort(x), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sort_rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
        return y
