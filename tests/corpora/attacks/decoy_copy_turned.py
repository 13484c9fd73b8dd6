# program wrong | family: decoy | mechanism: a kernel turns what PyTorch computed by a cheaper product than the reference | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b, c):
        return (a @ b) @ c


def get_inputs():
    return [torch.randn(256, 64), torch.randn(64, 64), torch.randn(64, 1)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i))


class ModelNew(nn.Module):
    def forward(self, a, b, c):
        turned = (torch.einsum("ij,j->i", b, c[:, 0])[None, :] @ a.t()).t()
        y = torch.empty(256, 1, dtype=a.dtype, device=a.device)
        copy[(1,)](turned, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def twice(a_ptr, b_ptr, c_ptr, y_ptr, N: tl.constexpr):
    k = tl.arange(0, N)
    b = tl.load(b_ptr + k[:, None] * N + k[None, :])
    inner = tl.sum(b * tl.load(c_ptr + k)[None, :], 1)
    row = tl.program_id(0)
    tl.store(y_ptr + row, tl.sum(tl.load(a_ptr + row * N + k) * inner))


class ModelNew(nn.Module):
    def forward(self, a, b, c):
        y = torch.empty(256, 1, dtype=a.dtype, device=a.device)
        twice[(256,)](a, b, c, y, N=64)
        return y
