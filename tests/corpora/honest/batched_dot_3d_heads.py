# honest | family: matmul | mechanism: tl.dot on three-dimensional blocks (a batch of heads in one program)
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b) + 0.5


def get_inputs():
    return [torch.randn(8, 16, 32), torch.randn(8, 32, 16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bmm3(a_ptr, b_ptr, c_ptr, H: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    h = tl.program_id(0) * H + tl.arange(0, H)[:, None, None]
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + h * M * K + m[None, :, None] * K + k[None, None, :])
    b = tl.load(b_ptr + h * K * N + k[None, :, None] * N + n[None, None, :])
    c = tl.dot(a, b, input_precision="ieee") + 0.5
    tl.store(c_ptr + h * M * N + m[None, :, None] * N + n[None, None, :], c)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty(8, 16, 16, device=a.device)
        bmm3[(2,)](a, b, c, H=4, M=16, N=16, K=32)
        return c
