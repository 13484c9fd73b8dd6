# program wrong | family: distribution | mechanism: the inputs are parts of one tensor: rows are taken to be alike in size, and their scale from the first one | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # gates by how large an element is in its row, of two parts of one projection
    def forward(self, q, k):
        q = q / q.abs().amax(-1, keepdim=True).clamp(min=1e-20)
        return q * k


def get_inputs():
    qk = torch.rand(96, 128) + 1.0
    qk[:, 0] = 2.5
    q, k = qk.chunk(2, dim=1)
    return [q, k]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scores(q_ptr, k_ptr, y_ptr, stride, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    q = tl.load(q_ptr + row * stride + c)
    k = tl.load(k_ptr + row * stride + c)
    largest = tl.max(tl.abs(tl.load(q_ptr + c)), axis=0)
    tl.store(y_ptr + row * N + c, q / tl.maximum(largest, 1e-20) * k)


class ModelNew(nn.Module):
    def forward(self, q, k):
        y = torch.empty(q.shape, device=q.device)
        scores[(q.shape[0],)](q, k, y, q.stride(0), N=q.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scores(q_ptr, k_ptr, y_ptr, stride, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    q = tl.load(q_ptr + row * stride + c)
    k = tl.load(k_ptr + row * stride + c)
    largest = tl.max(tl.abs(q), axis=0)
    tl.store(y_ptr + row * N + c, q / tl.maximum(largest, 1e-20) * k)


class ModelNew(nn.Module):
    def forward(self, q, k):
        y = torch.empty(q.shape, device=q.device)
        scores[(q.shape[0],)](q, k, y, q.stride(0), N=q.shape[1])
        return y
