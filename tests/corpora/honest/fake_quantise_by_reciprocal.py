# honest | family: precision | mechanism: numbers rounded to 255 steps of their row and through a ReLU, scaled by the reciprocal where the reference divides
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(dim=1, keepdim=True) / 127.0
        return torch.relu(torch.round(x / scale).clamp(-127, 127) * scale)


def get_inputs():
    return [torch.randn(96, 512)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def fake_quantise(x_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    at = row * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    most = tl.max(tl.abs(x), 0)
    code = libdevice.rint(x * (127.0 / most))
    tl.store(y_ptr + at, tl.maximum(code * (most / 127.0), 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        fake_quantise[(x.shape[0],)](x, y, N=x.shape[1])
        return y
