# honest | family: reductions | mechanism: exclusive reverse cumulative sum by tl.cumsum(reverse=True)
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        y = torch.flip(torch.cumsum(torch.flip(x, [1]), dim=1), [1])
        return y - x


def get_inputs():
    return [torch.randn(14, 45)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def suffix_sum(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    y = tl.cumsum(x, axis=0, reverse=True)
    tl.store(y_ptr + row * N + c, y - x, mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        suffix_sum[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
        return y
