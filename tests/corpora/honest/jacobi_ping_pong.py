# honest | family: several-kernels | mechanism: the same stencil kernel launched in a loop, two scratch buffers swapped
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, u):
        for _ in range(self.steps):
            p = nn.functional.pad(u, (1, 1))
            u = u + 0.1 * (p[:, 2:] - 2 * u + p[:, :-2])
        return u


def get_inputs():
    return [torch.randn(6, 130)]


def get_init_inputs():
    return [5]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def heat_step(src, dst, n, rate, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    base = src + row * n
    u = tl.load(base + i, mask=i < n, other=0.0)
    left = tl.load(base + i - 1, mask=(i > 0) & (i <= n), other=0.0)
    right = tl.load(base + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(dst + row * n + i, u + rate * (right - 2 * u + left), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, u):
        rows, n = u.shape
        a, b = torch.empty_like(u), torch.empty_like(u)
        src = u
        grid = (triton.cdiv(n, 64), rows)
        for _ in range(self.steps):
            heat_step[grid](src, a, n, 0.1, BLOCK=64)
            src, a, b = a, b, a
        return src
