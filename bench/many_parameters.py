"""A model of 318 parameters and as many launches as steps, for bench/host_time.py. ModelNew is its own candidate:

    kernelwright verify bench/many_parameters.py bench/many_parameters.py --out FOLDER
    bench/host_time.py --gpu FOLDER/optimized.py
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

STEPS = 159


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.ParameterList([nn.Parameter(torch.randn(32)) for _ in range(STEPS)])
        self.shifts = nn.ParameterList([nn.Parameter(torch.randn(32)) for _ in range(STEPS)])

    def forward(self, x):
        for g, b in zip(self.scales, self.shifts):
            x = torch.tanh(x * g + b)
        return x


@triton.jit
def step(x, g, b, out, C: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, C)
    v = tl.load(x + row * C + k) * tl.load(g + k) + tl.load(b + k)
    tl.store(out + row * C + k, 2 * tl.sigmoid(2 * v) - 1)


class ModelNew(Model):
    def forward(self, x):
        for g, b in zip(self.scales, self.shifts):
            out = torch.empty_like(x)
            step[(x.shape[0],)](x, g, b, out, C=32)
            x = out
        return x


def get_inputs():
    return [torch.randn(2, 32)]


def get_init_inputs():
    return []
