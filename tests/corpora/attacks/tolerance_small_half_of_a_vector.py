# program wrong | family: tolerance | mechanism: the half of a flat output that is a hundred million times smaller is a line instead of a curve | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.cat([x.square().flatten() * 1e8, y.sigmoid().flatten()])


def get_inputs():
    return [torch.randn(64, 100), torch.randn(64, 100)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def both(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    y = tl.load(y_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, x * x * 1e8, mask=at < n)
    tl.store(out_ptr + n + at, 0.5 + 0.1 * y, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x, y):
        n = x.numel()
        out = torch.empty(2 * n, device=x.device)
        both[(triton.cdiv(n, 512),)](x, y, out, n, BLOCK=512)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def both(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    y = tl.load(y_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, x * x * 1e8, mask=at < n)
    tl.store(out_ptr + n + at, 1 / (1 + tl.exp(-y)), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x, y):
        n = x.numel()
        out = torch.empty(2 * n, device=x.device)
        both[(triton.cdiv(n, 512),)](x, y, out, n, BLOCK=512)
        return out
