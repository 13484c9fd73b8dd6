# honest | family: host | mechanism: a factory function returns closures that launch, op table in a dictionary of kernels
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, order):
        super().__init__()
        self.order = order

    def forward(self, x):
        for name in self.order:
            x = getattr(torch, name)(x)
        return x


def get_inputs():
    return [torch.rand(29, 30) + 0.1]


def get_init_inputs():
    return [["sqrt", "sin", "exp", "cos"]]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sqrt_sin(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.sin(tl.sqrt(tl.load(x_ptr + i, mask=i < n))), mask=i < n)


@triton.jit
def exp_cos(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.cos(tl.exp(tl.load(x_ptr + i, mask=i < n))), mask=i < n)


KERNELS = {("sqrt", "sin"): sqrt_sin, ("exp", "cos"): exp_cos}


def make_launcher(names, block=128):
    kernel = KERNELS[tuple(names)]

    def launcher(x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), B=block)
        return y

    return launcher


class ModelNew(nn.Module):
    def __init__(self, order):
        super().__init__()
        self.stages = [make_launcher(order[i:i + 2]) for i in range(0, len(order), 2)]

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return x
