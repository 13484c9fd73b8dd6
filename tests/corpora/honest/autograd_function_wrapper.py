# honest | family: host | mechanism: torch.autograd.Function with forward and backward kernels, ctx.save_for_backward, apply
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.beta = nn.Parameter(torch.tensor([1.2]))

    def forward(self, x):
        return x * torch.sigmoid(self.beta * x)


def get_inputs():
    return [torch.randn(19, 53)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def swish_fwd(x_ptr, beta_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * tl.sigmoid(tl.load(beta_ptr) * x), mask=i < n)


@triton.jit
def swish_bwd(dy_ptr, x_ptr, beta_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    b = tl.load(beta_ptr)
    s = tl.sigmoid(b * x)
    tl.store(dx_ptr + i, tl.load(dy_ptr + i, mask=i < n) * (s + b * x * s * (1 - s)), mask=i < n)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        x = x.contiguous()
        y = torch.empty_like(x)
        swish_fwd[(triton.cdiv(x.numel(), 256),)](x, beta, y, x.numel(), BLOCK=256)
        ctx.save_for_backward(x, beta)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, beta = ctx.saved_tensors
        dx = torch.empty_like(x)
        swish_bwd[(triton.cdiv(x.numel(), 256),)](dy.contiguous(), x, beta, dx, x.numel(), BLOCK=256)
        return dx, None


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.beta = nn.Parameter(torch.tensor([1.2]))

    def forward(self, x):
        return Swish.apply(x, self.beta)
