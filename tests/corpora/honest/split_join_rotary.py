# honest | family: language | mechanism: tl.split and tl.join on the last axis for interleaved rotary embedding
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, cos, sin):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


def get_inputs():
    angle = torch.randn(12, 16)
    return [torch.randn(5, 12, 32), torch.cos(angle), torch.sin(angle)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rotary(x_ptr, cos_ptr, sin_ptr, y_ptr, T, HALF: tl.constexpr):
    t = tl.program_id(0)
    b = tl.program_id(1)
    base = (b * T + t) * 2 * HALF
    pairs = tl.arange(0, HALF)[:, None] * 2 + tl.arange(0, 2)[None, :]
    x0, x1 = tl.split(tl.load(x_ptr + base + pairs))
    h = tl.arange(0, HALF)
    c = tl.load(cos_ptr + t * HALF + h)
    s = tl.load(sin_ptr + t * HALF + h)
    tl.store(y_ptr + base + pairs, tl.join(x0 * c - x1 * s, x0 * s + x1 * c))


class ModelNew(nn.Module):
    def forward(self, x, cos, sin):
        B, T, D = x.shape
        y = torch.empty_like(x)
        rotary[(T, B)](x, cos, sin, y, T, HALF=D // 2)
        return y
