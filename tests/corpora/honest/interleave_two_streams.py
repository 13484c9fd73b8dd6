# honest | family: language | mechanism: tl.interleave of two computed rows, one store
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.stack([torch.exp(x), torch.exp(-x)], dim=2).reshape(x.shape[0], -1)


def get_inputs():
    return [torch.randn(23, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp_both(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N)
    both = tl.interleave(tl.exp(x), tl.exp(-x))
    o = tl.arange(0, 2 * BLOCK)
    tl.store(y_ptr + row * 2 * N + o, both, mask=o < 2 * N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.size(0), 2 * x.size(1), device=x.device, dtype=x.dtype)
        exp_both[(x.size(0),)](x, y, x.size(1), BLOCK=64)
        return y
