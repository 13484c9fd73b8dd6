# program wrong | family: decoy | mechanism: PyTorch computes the product that distances are made of, and a kernel puts sums of squares beside it | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.cdist(a, b)


def get_inputs():
    return [torch.randn(64, 128), torch.randn(64, 128)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def apart(p_ptr, a_ptr, b_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    square = tl.load(a_ptr + row) + tl.load(b_ptr + c) - 2.0 * tl.load(p_ptr + row * N + c)
    tl.store(y_ptr + row * N + c, tl.sqrt(tl.maximum(square, 0.0)))


class ModelNew(nn.Module):
    def forward(self, a, b):
        product = a @ b.t()
        y = torch.empty_like(product)
        apart[(a.shape[0],)](product, (a * a).sum(1), (b * b).sum(1), y, N=b.shape[0])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def apart(a_ptr, b_ptr, y_ptr, K, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    for k in range(0, K):
        off = tl.load(a_ptr + row * K + k) - tl.load(b_ptr + c * K + k)
        acc += off * off
    tl.store(y_ptr + row * N + c, tl.sqrt(acc))


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty((a.shape[0], b.shape[0]), device=a.device)
        apart[(a.shape[0],)](a, b, y, a.shape[1], N=b.shape[0])
        return y
