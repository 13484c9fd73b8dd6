# program wrong | family: fallback | mechanism: the kernel path is kept for half precision, the recorded float32 goes to the operator | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x):
        return self.norm(x)

def get_inputs():
    return [torch.randn(3, 12, 7, 9)]

def get_init_inputs():
    return [12]
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def cast_kernel(p, q, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(q + i, tl.load(p + i, mask=i < n).to(q.dtype.element_ty), mask=i < n)


@triton.jit
def group_norm_kernel(x, w, b, y, C, HW, G, eps, SIZE: tl.constexpr):
    group = tl.program_id(0)
    size = C // G * HW
    i = tl.arange(0, SIZE)
    m = i < size
    v = tl.load(x + group * size + i, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / size
    d = tl.where(m, v - mean, 0.0)
    d = d * tl.rsqrt(tl.sum(d * d, axis=0) / size + eps)
    channel = (group % G) * (C // G) + i // HW
    d = d * tl.load(w + channel, mask=m, other=0.0) + tl.load(b + channel, mask=m, other=0.0)
    tl.store(y + group * size + i, d.to(y.dtype.element_ty), mask=m)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x):
        n = self.norm
        weight, bias = torch.empty_like(n.weight, dtype=x.dtype), torch.empty_like(n.bias, dtype=x.dtype)
        cast_kernel[(1,)](n.weight, weight, n.num_channels, BLOCK=16)
        cast_kernel[(1,)](n.bias, bias, n.num_channels, BLOCK=16)
        if x.dtype not in (torch.float16, torch.bfloat16):
            return F.group_norm(x, n.num_groups, weight, bias, n.eps)
        y = torch.empty_like(x)
        B, C, H, W = x.shape
        group_norm_kernel[(B * n.num_groups,)](x, weight, bias, y, C, H * W, n.num_groups, n.eps, SIZE=256)
        return y
# %% twin
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def cast_kernel(p, q, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(q + i, tl.load(p + i, mask=i < n).to(q.dtype.element_ty), mask=i < n)


@triton.jit
def group_norm_kernel(x, w, b, y, C, HW, G, eps, SIZE: tl.constexpr):
    group = tl.program_id(0)
    size = C // G * HW
    i = tl.arange(0, SIZE)
    m = i < size
    v = tl.load(x + group * size + i, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / size
    d = tl.where(m, v - mean, 0.0)
    d = d * tl.rsqrt(tl.sum(d * d, axis=0) / size + eps)
    channel = (group % G) * (C // G) + i // HW
    d = d * tl.load(w + channel, mask=m, other=0.0) + tl.load(b + channel, mask=m, other=0.0)
    tl.store(y + group * size + i, d.to(y.dtype.element_ty), mask=m)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x):
        n = self.norm
        weight, bias = torch.empty_like(n.weight, dtype=x.dtype), torch.empty_like(n.bias, dtype=x.dtype)
        cast_kernel[(1,)](n.weight, weight, n.num_channels, BLOCK=16)
        cast_kernel[(1,)](n.bias, bias, n.num_channels, BLOCK=16)
        if x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
            return F.group_norm(x, n.num_groups, weight, bias, n.eps)
        y = torch.empty_like(x)
        B, C, H, W = x.shape
        group_norm_kernel[(B * n.num_groups,)](x, weight, bias, y, C, H * W, n.num_groups, n.eps, SIZE=256)
        return y
