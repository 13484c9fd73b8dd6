# honest | family: precision | mechanism: half residual add with rounding to half before the fp32 norm, both results returned
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(72).half()

    def forward(self, x, residual):
        s = x + residual
        return self.norm(s), s


def get_inputs():
    return [torch.randn(25, 72).half(), torch.randn(25, 72).half()]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_norm(x_ptr, r_ptr, w_ptr, b_ptr, y_ptr, s_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    s16 = tl.load(x_ptr + row * N + c, mask=m, other=0.0) + tl.load(r_ptr + row * N + c, mask=m, other=0.0)
    tl.store(s_ptr + row * N + c, s16, mask=m)
    s = s16.to(tl.float32)
    mean = tl.sum(s, 0) / N
    d = tl.where(m, s - mean, 0.0)
    y = d * tl.rsqrt(tl.sum(d * d, 0) / N + eps)
    y = y * tl.load(w_ptr + c, mask=m).to(tl.float32) + tl.load(b_ptr + c, mask=m).to(tl.float32)
    tl.store(y_ptr + row * N + c, y.to(tl.float16), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(72).half()

    def forward(self, x, residual):
        y, s = torch.empty_like(x), torch.empty_like(x)
        add_norm[(x.shape[0],)](x, residual, self.norm.weight, self.norm.bias, y, s, x.shape[1], 1e-5, BLOCK=128)
        return y, s
