# honest | family: language | mechanism: a jit helper is passed to the kernel as a constexpr argument
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.mish(x), nn.functional.leaky_relu(x, 0.2)


def get_inputs():
    return [torch.randn(24, 49)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mish(x):
    e = tl.exp(tl.minimum(x, 20.0))
    p = e * (e + 2.0)
    return tl.where(x > 20.0, x, x * p / (p + 2.0))


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.2 * x)


@triton.jit
def elementwise(x_ptr, y_ptr, n, FN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, FN(x), mask=i < n)


def launch(fn, x):
    y = torch.empty_like(x)
    elementwise[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), FN=fn, BLOCK=256)
    return y


class ModelNew(nn.Module):
    def forward(self, x):
        return launch(mish, x), launch(leaky_relu, x)
