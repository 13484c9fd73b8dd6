# honest | family: reductions | mechanism: tl.cumprod over the last axis of a 2-d tile of rows
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cumprod(1.0 + 0.1 * torch.tanh(x), dim=-1)


def get_inputs():
    return [torch.randn(27, 31)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def cumprod_tile(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    c = tl.arange(0, BN)[None, :]
    mask = (r < M) & (c < N)
    x = tl.load(x_ptr + r * N + c, mask=mask, other=0.0)
    tl.store(y_ptr + r * N + c, tl.cumprod(1.0 + 0.1 * libdevice.tanh(x), axis=1), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cumprod_tile[(triton.cdiv(x.shape[0], 8),)](x, y, *x.shape, BM=8, BN=32)
        return y
