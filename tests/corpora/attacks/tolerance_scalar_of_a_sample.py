# program wrong | family: tolerance | mechanism: a loss over all elements is estimated from most of them | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, target):
        return (x - target).abs().mean()


def get_inputs():
    return [torch.randn(64, 40), torch.randn(64, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_l1(x_ptr, t_ptr, out_ptr, n, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.load(x_ptr + i, mask=i < n, other=0.0) - tl.load(t_ptr + i, mask=i < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(tl.abs(d), axis=0) / count)


class ModelNew(nn.Module):
    def forward(self, x, target):
        out = torch.zeros((), device=x.device)
        n = x.numel()
        used = n * 9 // 10
        partial_l1[(triton.cdiv(n, 512),)](x, target, out, used, used, BLOCK=512)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_l1(x_ptr, t_ptr, out_ptr, n, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.load(x_ptr + i, mask=i < n, other=0.0) - tl.load(t_ptr + i, mask=i < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(tl.abs(d), axis=0) / count)


class ModelNew(nn.Module):
    def forward(self, x, target):
        out = torch.zeros((), device=x.device)
        n = x.numel()
        used = n
        partial_l1[(triton.cdiv(n, 512),)](x, target, out, used, used, BLOCK=512)
        return out
