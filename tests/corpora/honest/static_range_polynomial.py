# honest | family: language | mechanism: tl.static_range over constexpr coefficients passed as a tuple
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, coefficients):
        super().__init__()
        self.coefficients = coefficients

    def forward(self, x):
        y = torch.zeros_like(x)
        for c in self.coefficients:
            y = y * x + c
        return torch.tanh(y)


def get_inputs():
    return [torch.rand(25, 63) - 0.5]


def get_init_inputs():
    return [[0.25, -1.5, 0.75, 2.0, -0.1]]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def horner(x_ptr, y_ptr, n, COEFFS: tl.constexpr, DEGREE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tl.zeros_like(x)
    for k in tl.static_range(DEGREE):
        y = y * x + COEFFS[k]
    tl.store(y_ptr + i, libdevice.tanh(y), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, coefficients):
        super().__init__()
        self.coefficients = tuple(float(c) for c in coefficients)

    def forward(self, x):
        y = torch.empty_like(x)
        horner[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), COEFFS=self.coefficients,
                                              DEGREE=len(self.coefficients), BLOCK=256)
        return y
