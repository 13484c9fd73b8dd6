# honest | family: language | mechanism: several libdevice functions: erf, log1p, expm1, atan2, pow
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.erf(x) + torch.log1p(y.abs()), torch.expm1(-y.abs()), torch.atan2(x, y), torch.pow(x.abs() + 0.5, y)


def get_inputs():
    return [torch.randn(16, 40), torch.randn(16, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def special(x_ptr, y_ptr, a_ptr, b_ptr, c_ptr, d_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=1.0)
    y = tl.load(y_ptr + i, mask=m, other=1.0)
    tl.store(a_ptr + i, libdevice.erf(x) + libdevice.log1p(tl.abs(y)), mask=m)
    tl.store(b_ptr + i, libdevice.expm1(-tl.abs(y)), mask=m)
    tl.store(c_ptr + i, libdevice.atan2(x, y), mask=m)
    tl.store(d_ptr + i, libdevice.pow(tl.abs(x) + 0.5, y), mask=m)


class ModelNew(nn.Module):
    def forward(self, x, y):
        a, b, c, d = (torch.empty_like(x) for _ in range(4))
        special[(triton.cdiv(x.numel(), 128),)](x, y, a, b, c, d, x.numel(), BLOCK=128)
        return a, b, c, d
