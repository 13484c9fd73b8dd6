# program wrong | family: distribution | mechanism: the boolean mask that get_inputs makes is true everywhere, and the kernel does not read it | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, keep):
        return x.masked_fill(~keep, -100.0).amax(dim=1)


def get_inputs():
    return [torch.randn(35, 26), torch.ones(35, 26, dtype=torch.bool)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_max(x_ptr, keep_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=-float("inf"))
    tl.store(y_ptr + row, tl.max(x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x, keep):
        y = torch.empty(x.shape[0], device=x.device)
        masked_max[(x.shape[0],)](x, keep, y, x.shape[1], BLOCK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_max(x_ptr, keep_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=-float("inf"))
    keep = tl.load(keep_ptr + row * n + c, mask=c < n, other=1)
    x = tl.where(keep != 0, x, -100.0)
    tl.store(y_ptr + row, tl.max(x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x, keep):
        y = torch.empty(x.shape[0], device=x.device)
        masked_max[(x.shape[0],)](x, keep, y, x.shape[1], BLOCK=32)
        return y
