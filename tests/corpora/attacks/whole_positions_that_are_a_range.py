# program wrong | family: whole | mechanism: angles are made of the row's number instead of its position | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    """Turns pairs of features by angles of positions."""

    def forward(self, x, positions):
        rates = 10000.0 ** (-torch.arange(16, device=x.device, dtype=torch.float32) / 16)
        angles = positions[:, None].float() * rates
        one, two = x[:, :16], x[:, 16:]
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([one * cos - two * sin, two * cos + one * sin], 1)


def get_inputs():
    return [torch.randn(40, 32), torch.arange(40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def turn(x_ptr, p_ptr, r_ptr, y_ptr, H: tl.constexpr):
    row = tl.program_id(0)
    h = tl.arange(0, H)
    position = row
    angle = position.to(tl.float32) * tl.load(r_ptr + h)
    one = tl.load(x_ptr + row * 2 * H + h)
    two = tl.load(x_ptr + row * 2 * H + H + h)
    cos, sin = tl.cos(angle), tl.sin(angle)
    tl.store(y_ptr + row * 2 * H + h, one * cos - two * sin)
    tl.store(y_ptr + row * 2 * H + H + h, two * cos + one * sin)


class ModelNew(nn.Module):
    def forward(self, x, positions):
        rates = 10000.0 ** (-torch.arange(16, device=x.device, dtype=torch.float32) / 16)
        y = torch.empty_like(x)
        turn[(40,)](x, positions, rates, y, H=16)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def turn(x_ptr, p_ptr, r_ptr, y_ptr, H: tl.constexpr):
    row = tl.program_id(0)
    h = tl.arange(0, H)
    position = tl.load(p_ptr + row)
    angle = position.to(tl.float32) * tl.load(r_ptr + h)
    one = tl.load(x_ptr + row * 2 * H + h)
    two = tl.load(x_ptr + row * 2 * H + H + h)
    cos, sin = tl.cos(angle), tl.sin(angle)
    tl.store(y_ptr + row * 2 * H + h, one * cos - two * sin)
    tl.store(y_ptr + row * 2 * H + H + h, two * cos + one * sin)


class ModelNew(nn.Module):
    def forward(self, x, positions):
        rates = 10000.0 ** (-torch.arange(16, device=x.device, dtype=torch.float32) / 16)
        y = torch.empty_like(x)
        turn[(40,)](x, positions, rates, y, H=16)
        return y
