# honest | family: precision | mechanism: bfloat16 in and out, statistics in fp32, weight kept in fp32
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(110))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (self.weight * h).to(x.dtype)


def get_inputs():
    return [torch.randn(2, 15, 110, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rmsnorm_bf16(x_ptr, w_ptr, y_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    x = tl.load(x_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + c, mask=m, other=0.0)
    r = tl.math.rsqrt(tl.sum(x * x, axis=-1) / N + eps)
    tl.store(y_ptr + row * N + c, (w * (x * r)).to(tl.bfloat16), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(110))

    def forward(self, x):
        flat = x.view(-1, x.shape[-1])
        y = torch.empty_like(flat)
        rmsnorm_bf16[(flat.shape[0],)](flat, self.weight, y, flat.shape[1], 1e-6, BLOCK=128)
        return y.view_as(x)
