# honest | family: host | mechanism: cos/sin table filled by a kernel on the first call, kept and only read afterwards
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        T, D = x.shape[1], x.shape[2] // 2
        freq = 1.0 / 10.0 ** (torch.arange(D, device=x.device) / D)
        angle = torch.arange(T, device=x.device)[:, None] * freq[None, :]
        a, b = x[..., :D], x[..., D:]
        c, s = angle.cos(), angle.sin()
        return torch.cat([a * c - b * s, b * c + a * s], -1)


def get_inputs():
    return [torch.randn(4, 9, 32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def fill_table(cos_ptr, sin_ptr, D: tl.constexpr):
    t = tl.program_id(0)
    d = tl.arange(0, D)
    angle = t * (1.0 / libdevice.pow(10.0, d.to(tl.float32) / D))
    tl.store(cos_ptr + t * D + d, tl.cos(angle))
    tl.store(sin_ptr + t * D + d, tl.sin(angle))


@triton.jit
def rotate(x_ptr, cos_ptr, sin_ptr, y_ptr, T, D: tl.constexpr):
    row = tl.program_id(0)
    t = row % T
    d = tl.arange(0, D)
    a = tl.load(x_ptr + row * 2 * D + d)
    b = tl.load(x_ptr + row * 2 * D + D + d)
    c = tl.load(cos_ptr + t * D + d)
    s = tl.load(sin_ptr + t * D + d)
    tl.store(y_ptr + row * 2 * D + d, a * c - b * s)
    tl.store(y_ptr + row * 2 * D + D + d, b * c + a * s)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = {}

    def table(self, T, D, device):
        if (T, D) not in self.tables:
            cos, sin = torch.empty(T, D, device=device), torch.empty(T, D, device=device)
            fill_table[(T,)](cos, sin, D=D)
            self.tables[T, D] = cos, sin
        return self.tables[T, D]

    def forward(self, x):
        B, T, D2 = x.shape
        cos, sin = self.table(T, D2 // 2, x.device)
        y = torch.empty_like(x)
        rotate[(B * T,)](x, cos, sin, y, T, D=D2 // 2)
        return y
