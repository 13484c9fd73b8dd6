# program wrong | family: tolerance | mechanism: scores among masked ones of -1e9 are clipped, which is nothing beside those | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, keep):
        return x * 0.125 + (1 - keep) * -1e9


def get_inputs():
    return [torch.randn(60, 200), (torch.rand(60, 200) < 0.8).float()]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_scores(x_ptr, keep_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    keep = tl.load(keep_ptr + at, mask=at < n, other=1.0)
    tl.store(y_ptr + at, tl.minimum(x, 2.0) * 0.125 + (1 - keep) * -1e9, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x, keep):
        y = torch.empty_like(x)
        n = x.numel()
        masked_scores[(triton.cdiv(n, 512),)](x, keep, y, n, BLOCK=512)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_scores(x_ptr, keep_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    keep = tl.load(keep_ptr + at, mask=at < n, other=1.0)
    tl.store(y_ptr + at, x * 0.125 + (1 - keep) * -1e9, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x, keep):
        y = torch.empty_like(x)
        n = x.numel()
        masked_scores[(triton.cdiv(n, 512),)](x, keep, y, n, BLOCK=512)
        return y
