# honest | family: shapes | mechanism: list of tensors of different sizes handled by one kernel launched per tensor with offsets into one output
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, xs):
        return torch.cat([torch.cos(x).flatten() for x in xs])


def get_inputs():
    return [[torch.randn(7, 9), torch.randn(130), torch.randn(2, 3, 5)]]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cos_at(x_ptr, y_ptr, offset, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offset + i, tl.cos(tl.load(x_ptr + i, mask=i < n)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, xs):
        sizes = [x.numel() for x in xs]
        y = torch.empty(sum(sizes), device=xs[0].device)
        start = 0
        for x, n in zip(xs, sizes):
            cos_at[(triton.cdiv(n, 64),)](x.contiguous(), y, start, n, BLOCK=64)
            start += n
        return y
