# honest | family: language | mechanism: a table of sines is computed in the kernel, a causal mask is a comparison, and a list of numbers is written into it
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        positions = torch.arange(length, dtype=torch.float32)[:, None]
        phases = torch.arange(0, width, dtype=torch.float32) * 0.5
        self.register_buffer("table", torch.sin(positions * 0.25 + phases))
        self.register_buffer("mask", torch.tril(torch.ones(length, width, dtype=torch.bool)))
        self.register_buffer("numbers", torch.tensor([0.5, 3.0]))
        self.gain = nn.Parameter(torch.randn(width))

    def forward(self, x):
        y = (x + self.table) * self.gain
        return torch.where(self.mask, y * self.numbers[1], self.numbers[0])


def get_inputs():
    return [torch.randn(40, 64)]


def get_init_inputs():
    return [40, 64]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, gain_ptr, y_ptr, K: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, K)
    table = tl.sin(row.to(tl.float32) * 0.25 + k.to(tl.float32) * 0.5)
    y = (tl.load(x_ptr + row * K + k) + table) * tl.load(gain_ptr + k)
    tl.store(y_ptr + row * K + k, tl.where(k <= row, y * 3.0, 0.5))


class ModelNew(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(width))

    def forward(self, x):
        y = torch.empty_like(x)
        rows[(x.shape[0],)](x, self.gain, y, K=x.shape[1])
        return y
