# honest | family: language | mechanism: tl.reshape, tl.permute, tl.cat(can_reorder) for a sum, and broadcasting with expand_dims
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        y = x.reshape(x.shape[0], 4, 16).transpose(1, 2).reshape(x.shape[0], 64)
        return y * torch.sigmoid(y), x.sum(dim=1)


def get_inputs():
    return [torch.randn(22, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def shuffle_rows(x_ptr, y_ptr, s_ptr, A: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, A * B)
    x = tl.load(x_ptr + row * A * B + c)
    y = tl.reshape(tl.permute(tl.reshape(x, (A, B)), (1, 0)), (A * B,))
    tl.store(y_ptr + row * A * B + c, y * tl.sigmoid(y))
    half: tl.constexpr = A * B // 2
    h = tl.arange(0, half)
    lo = tl.load(x_ptr + row * A * B + h)
    hi = tl.load(x_ptr + row * A * B + half + h)
    tl.store(s_ptr + row, tl.sum(tl.cat(lo, hi, can_reorder=True), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        s = torch.empty(x.shape[0], device=x.device)
        shuffle_rows[(x.shape[0],)](x, y, s, A=4, B=16)
        return y, s
