# program wrong | family: kernel-body | mechanism: the default of a parameter is an expression that runs when the kernel is defined | stage: compile | check: slice
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.amax(dim=0)


def get_inputs():
    return [torch.randn(40, 70)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_max(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr = int.from_bytes(bytes([64]), "little")):
    c = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * n + c, mask=r < rows, other=-float("inf"))
    tl.store(y_ptr + c, tl.max(x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[1], device=x.device)
        column_max[(x.shape[1],)](x, y, x.shape[0], x.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_max(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr = 64):
    c = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * n + c, mask=r < rows, other=-float("inf"))
    tl.store(y_ptr + c, tl.max(x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[1], device=x.device)
        column_max[(x.shape[1],)](x, y, x.shape[0], x.shape[1])
        return y
