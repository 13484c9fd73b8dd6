# honest | family: shapes | mechanism: reference returns a transposed view of a product, candidate a contiguous tensor of the same shape
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x).t()


def get_inputs():
    return [torch.randn(20, 33)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp_t(x_ptr, y_ptr, N, M, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * N + c, mask=c < N)
    tl.store(y_ptr + c * M + r, tl.exp(x), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        M, N = x.shape
        y = torch.empty(N, M, device=x.device)
        exp_t[(M,)](x, y, N, M, BLOCK=64)
        return y
