# program wrong | family: no-kernel | mechanism: PyTorch multiplies the vector by one matrix after another, not the matrices, and a kernel copies | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b, v):
        return (a @ b) @ v


def get_inputs():
    return [torch.randn(64, 48), torch.randn(48, 72), torch.randn(72)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, a, b, v):
        done = a @ (b @ v)
        y = torch.empty_like(done)
        copy[(triton.cdiv(y.numel(), 256),)](done, y, y.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows_times(a_ptr, v_ptr, y_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * K + k, mask=k < K, other=0.0)
    tl.store(y_ptr + row, tl.sum(a * tl.load(v_ptr + k, mask=k < K, other=0.0)))


def multiply(a, v):
    y = torch.empty(a.shape[0], device=a.device, dtype=a.dtype)
    rows_times[(a.shape[0],)](a, v, y, a.shape[1], BLOCK=triton.next_power_of_2(a.shape[1]))
    return y


class ModelNew(nn.Module):
    def forward(self, a, b, v):
        return multiply(a, multiply(b, v))
