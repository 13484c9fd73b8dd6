# honest | family: several-kernels | mechanism: kernels before and after a linear solve, which stays PyTorch's call
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, b):
        a = x @ x.mT / 16 + torch.eye(16, device=x.device)
        return torch.relu(torch.linalg.solve(a, torch.tanh(b)) * 2 - 0.25), torch.isin(b.round(), torch.tensor([1.0, -1.0], device=x.device))


def get_inputs():
    return [torch.randn(8, 16, 64), torch.randn(8, 16, 4096)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def before(b_ptr, t_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    b = tl.load(b_ptr + i, mask=i < N, other=0.0)
    e = tl.exp(-2 * tl.abs(b))
    t = (1 - e) / (1 + e)
    small = b - b * b * b / 3 + 2 * b * b * b * b * b / 15
    t = tl.where(tl.abs(b) < 0.02, tl.abs(small), t)
    tl.store(t_ptr + i, tl.where(b < 0, -t, t), mask=i < N)


@triton.jit
def after(s_ptr, y_ptr, M, N, stride_batch, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < M * N
    batch, row, column = tl.program_id(1), i // N, i % N
    s = tl.load(s_ptr + batch * stride_batch + row * stride_row + column * stride_column, mask=inside, other=0.0)
    tl.store(y_ptr + batch * M * N + i, tl.maximum(s * 2 - 0.25, 0.0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x, b):
        a = x @ x.mT / 16 + torch.eye(16, device=x.device)
        t, y = torch.empty_like(b), torch.empty_like(b)
        before[(triton.cdiv(b.numel(), 1024),)](b, t, b.numel(), BLOCK=1024)
        s = torch.linalg.solve(a, t)
        after[(triton.cdiv(16 * 4096, 1024), 8)](s, y, 16, 4096, s.stride(0), s.stride(1), s.stride(2), BLOCK=1024)
        return y, torch.isin(b.round(), torch.tensor([1.0, -1.0], device=x.device))
