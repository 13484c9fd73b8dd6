# honest | family: shapes | mechanism: rows of a wider allocation: a slice of columns read with a large row stride
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, wide):
        x = wide[:, 3:40]
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(25, 300)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_strided(x_ptr, y_ptr, sx, sy, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * sx + c, mask=c < N, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * sy + c, e / tl.sum(e, axis=0), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, wide):
        x = wide[:, 3:40]
        y = torch.empty(x.shape, device=x.device, dtype=x.dtype)
        softmax_strided[(x.shape[0],)](x, y, x.stride(0), y.stride(0), x.shape[1], BLOCK=64)
        return y
