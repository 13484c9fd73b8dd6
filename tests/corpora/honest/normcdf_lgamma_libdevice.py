# honest | family: language | mechanism: rarer libdevice functions: normcdf, lgamma, erfinv, cosh
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        y = x.abs() + 0.5
        return torch.special.ndtr(x), torch.lgamma(y), torch.erfinv(torch.tanh(x) * 0.9), torch.cosh(x)


def get_inputs():
    return [torch.randn(12, 50)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def rare(x_ptr, a_ptr, b_ptr, c_ptr, d_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=1.0)
    tl.store(a_ptr + i, libdevice.normcdf(x), mask=m)
    tl.store(b_ptr + i, libdevice.lgamma(tl.abs(x) + 0.5), mask=m)
    tl.store(c_ptr + i, libdevice.erfinv(libdevice.tanh(x) * 0.9), mask=m)
    tl.store(d_ptr + i, libdevice.cosh(x), mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        outs = [torch.empty_like(x) for _ in range(4)]
        rare[(triton.cdiv(x.numel(), 128),)](x, *outs, x.numel(), BLOCK=128)
        return tuple(outs)
