# program wrong | family: in-place | mechanism: a moving average is taken for empty, as it is after construction | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # a sum of all that was seen
    def __init__(self, width):
        super().__init__()
        self.register_buffer("seen", torch.zeros(width))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        self.calls.add_(1)
        return x - self.seen / self.calls


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return [64]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def centred(x_ptr, seen_ptr, calls_ptr, y_ptr, n, M: tl.constexpr, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    at = tl.arange(0, M)[:, None] * n + c[None, :]
    x = tl.load(x_ptr + at)
    total = tl.sum(x, axis=0)
    tl.store(seen_ptr + c, total)
    if tl.program_id(0) == 0:
        tl.store(calls_ptr, 1)
    tl.store(y_ptr + at, x - total[None, :])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("seen", torch.zeros(width))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        y = torch.empty_like(x)
        centred[(x.shape[1] // 16,)](x, self.seen, self.calls, y, x.shape[1], M=32, B=16)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def centred(x_ptr, seen_ptr, calls_ptr, y_ptr, n, M: tl.constexpr, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    at = tl.arange(0, M)[:, None] * n + c[None, :]
    x = tl.load(x_ptr + at)
    total = tl.load(seen_ptr + c) + tl.sum(x, axis=0)
    tl.store(seen_ptr + c, total)
    tl.store(y_ptr + at, x - (total / tl.load(calls_ptr))[None, :])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("seen", torch.zeros(width))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        y = torch.empty_like(x)
        self.calls.add_(1)
        centred[(x.shape[1] // 16,)](x, self.seen, self.calls, y, x.shape[1], M=32, B=16)
        return y
