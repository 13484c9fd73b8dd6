# program wrong | family: whole | mechanism: relu is left out because no draw is negative | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, k):
        return k.relu() * 2


def get_inputs():
    return [torch.randint(0, 100, (64, 64))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(k_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.load(k_ptr + i, mask=i < N, other=0)
    y = k * 2
    tl.store(y_ptr + i, y, mask=i < N)


class ModelNew(nn.Module):
    def forward(self, k):
        y = torch.empty_like(k)
        point[(triton.cdiv(4096, 256),)](k, y, N=4096, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(k_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.load(k_ptr + i, mask=i < N, other=0)
    y = tl.maximum(k, 0) * 2
    tl.store(y_ptr + i, y, mask=i < N)


class ModelNew(nn.Module):
    def forward(self, k):
        y = torch.empty_like(k)
        point[(triton.cdiv(4096, 256),)](k, y, N=4096, BLOCK=256)
        return y
