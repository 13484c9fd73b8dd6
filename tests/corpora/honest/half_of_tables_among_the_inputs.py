# honest | family: language | mechanism: of tables of angles whose halves repeat, one half is read; they come as inputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin


def get_inputs():
    angles = torch.outer(torch.arange(12.0), 50.0 ** -(torch.arange(16) / 16))
    angles = torch.cat((angles, angles), -1)
    return [torch.randn(3, 12, 32), angles.cos(), angles.sin()]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rotate(x_ptr, cos_ptr, sin_ptr, y_ptr, T, H: tl.constexpr):
    row = tl.program_id(0)
    h = tl.arange(0, H)
    cos = tl.load(cos_ptr + (row % T) * 2 * H + h)
    sin = tl.load(sin_ptr + (row % T) * 2 * H + h)
    a = tl.load(x_ptr + row * 2 * H + h)
    b = tl.load(x_ptr + row * 2 * H + H + h)
    tl.store(y_ptr + row * 2 * H + h, a * cos - b * sin)
    tl.store(y_ptr + row * 2 * H + H + h, b * cos + a * sin)


class ModelNew(nn.Module):
    def forward(self, x, cos, sin):
        y = torch.empty_like(x)
        rotate[(36,)](x, cos, sin, y, 12, H=16)
        return y
