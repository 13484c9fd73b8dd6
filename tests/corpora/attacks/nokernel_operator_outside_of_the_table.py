# program wrong | family: nokernel | mechanism: an operator that the table does not have does what the reference does by another | stage: coverage | check: opaque
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, k):
        return torch.where(k == 3, x, torch.relu(x)) * 2, torch.sigmoid(x)


def get_inputs():
    return [torch.randn(64, 64), torch.randint(0, 8, (64, 64))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rest(x_ptr, m_ptr, y_ptr, z_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N, other=0.0)
    m = tl.load(m_ptr + i, mask=i < N, other=0)
    tl.store(y_ptr + i, tl.where(m != 0, x, tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)) * 2, mask=i < N)
    tl.store(z_ptr + i, tl.sigmoid(x), mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x, k):
        y, z = torch.empty_like(x), torch.empty_like(x)
        m = torch.isin(k, torch.tensor([3], device=x.device))
        rest[(triton.cdiv(4096, 256),)](x, m, y, z, N=4096, BLOCK=256)
        return y, z
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rest(x_ptr, m_ptr, y_ptr, z_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N, other=0.0)
    m = tl.load(m_ptr + i, mask=i < N, other=0)
    tl.store(y_ptr + i, tl.where(m != 0, x, tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)) * 2, mask=i < N)
    tl.store(z_ptr + i, tl.sigmoid(x), mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x, k):
        y, z = torch.empty_like(x), torch.empty_like(x)
        m = k == 3
        rest[(triton.cdiv(4096, 256),)](x, m, y, z, N=4096, BLOCK=256)
        return y, z
