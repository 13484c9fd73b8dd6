# honest | family: host | mechanism: the jit kernel is defined inside a function and closes over a captured constexpr
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.celu(x, alpha=1.3)


def get_inputs():
    return [torch.randn(26, 35)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


def build_celu(alpha_value):
    alpha = tl.constexpr(alpha_value)

    @triton.jit
    def celu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n)
        neg = alpha * libdevice.expm1(x / alpha)
        tl.store(y_ptr + i, tl.maximum(x, 0.0) + tl.minimum(neg, 0.0), mask=i < n)

    return celu


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = build_celu(1.3)

    def forward(self, x):
        y = torch.empty_like(x)
        self.kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
