# program wrong | family: distribution | mechanism: a cosine without its epsilon, which only rows of zeros need | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.cosine_similarity(x, y, dim=1)


def get_inputs():
    return [torch.randn(96, 200), torch.randn(96, 200)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cosine_of_rows(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    y = tl.load(y_ptr + row * n + c, mask=c < n, other=0.0)
    xx, yy = tl.sum(x * x, axis=0), tl.sum(y * y, axis=0)
    tl.store(out_ptr + row, tl.sum(x * y, axis=0) / tl.sqrt(xx * yy))


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty(x.shape[0], device=x.device)
        cosine_of_rows[(x.shape[0],)](x, y, out, x.shape[1], BLOCK=256)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cosine_of_rows(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    y = tl.load(y_ptr + row * n + c, mask=c < n, other=0.0)
    xx, yy = tl.sum(x * x, axis=0), tl.sum(y * y, axis=0)
    tl.store(out_ptr + row, tl.sum(x * y, axis=0) / (tl.maximum(tl.sqrt(xx), 1e-8) * tl.maximum(tl.sqrt(yy), 1e-8)))


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty(x.shape[0], device=x.device)
        cosine_of_rows[(x.shape[0],)](x, y, out, x.shape[1], BLOCK=256)
        return out
