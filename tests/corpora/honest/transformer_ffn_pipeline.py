# honest | family: hybrid | mechanism: layer norm by Triton, two matmuls by PyTorch with out=, activation and residual by Triton in between
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(24)
        self.w1 = nn.Linear(24, 64, bias=False)
        self.w2 = nn.Linear(64, 24, bias=False)

    def forward(self, x):
        return x + self.w2(torch.square(torch.relu(self.w1(self.norm(x)))))


def get_inputs():
    return [torch.randn(50, 24)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ln(x_ptr, w_ptr, b_ptr, y_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    x = tl.load(x_ptr + row * N + c, mask=m, other=0.0)
    mean = tl.sum(x) / N
    d = tl.where(m, x - mean, 0.0)
    y = d * tl.rsqrt(tl.sum(d * d) / N + eps)
    tl.store(y_ptr + row * N + c, y * tl.load(w_ptr + c, mask=m) + tl.load(b_ptr + c, mask=m), mask=m)


@triton.jit
def relu_squared_(h_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.maximum(tl.load(h_ptr + i, mask=i < n), 0.0)
    tl.store(h_ptr + i, h * h, mask=i < n)


@triton.jit
def add_(y_ptr, x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(y_ptr + i, mask=i < n) + tl.load(x_ptr + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(24)
        self.w1 = nn.Linear(24, 64, bias=False)
        self.w2 = nn.Linear(64, 24, bias=False)

    def forward(self, x):
        M, N = x.shape
        normed = torch.empty_like(x)
        ln[(M,)](x, self.norm.weight, self.norm.bias, normed, N, self.norm.eps, BLOCK=32)
        h = torch.empty(M, 64, device=x.device)
        torch.mm(normed, self.w1.weight.t(), out=h)
        relu_squared_[(triton.cdiv(h.numel(), 512),)](h, h.numel(), BLOCK=512)
        y = h @ self.w2.weight.t()
        add_[(triton.cdiv(y.numel(), 512),)](y, x, y.numel(), BLOCK=512)
        return y
