# program wrong | family: no-kernel | mechanism: the only kernel packs a weight at the first call, every later call is plain aten | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out, width) * 0.2)
        self.bias = nn.Parameter(torch.randn(out) * 0.1)

    def forward(self, x):
        return torch.nn.functional.elu(x @ self.weight.t() + self.bias)

def get_inputs():
    return [torch.randn(37, 40)]

def get_init_inputs():
    return [40, 24]
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def pack_kernel(w_ptr, p_ptr, rows, cols, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    tl.store(p_ptr + c * rows + r, tl.load(w_ptr + r * cols + c, mask=mask), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out, width) * 0.2)
        self.bias = nn.Parameter(torch.randn(out) * 0.1)
        self._packed = None

    def forward(self, x):
        if self._packed is None:
            rows, cols = self.weight.shape
            self._packed = torch.empty(cols, rows, device=x.device)
            pack_kernel[(rows,)](self.weight, self._packed, rows, cols, BLOCK=64)
        return F.elu(torch.addmm(self.bias, x, self._packed))
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pack_kernel(w_ptr, p_ptr, rows, cols, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    tl.store(p_ptr + c * rows + r, tl.load(w_ptr + r * cols + c, mask=mask), mask=mask)


@triton.jit
def linear_elu_kernel(x_ptr, p_ptr, b_ptr, y_ptr, K, N, BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK_K)
    n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row * K + k, mask=k < K, other=0.0)
    w = tl.load(p_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
    y = tl.sum(x[:, None] * w, axis=0) + tl.load(b_ptr + n, mask=n < N, other=0.0)
    y = tl.where(y > 0, y, tl.exp(tl.minimum(y, 0.0)) - 1.0)
    tl.store(y_ptr + row * N + n, y, mask=n < N)


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out, width) * 0.2)
        self.bias = nn.Parameter(torch.randn(out) * 0.1)
        self._packed = None

    def forward(self, x):
        if self._packed is None:
            rows, cols = self.weight.shape
            self._packed = torch.empty(cols, rows, device=x.device)
            pack_kernel[(rows,)](self.weight, self._packed, rows, cols, BLOCK=64)
        K, N = self._packed.shape
        y = torch.empty(x.shape[0], N, device=x.device)
        linear_elu_kernel[(x.shape[0],)](x, self._packed, self.bias, y, K, N, BLOCK_K=64, BLOCK_N=32)
        return y
