# program wrong | family: autotune | mechanism: the hook that runs once for each key computes half of the answer, later calls find it in a kept buffer | stage: record | check: survives
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x / x.abs().sum(dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(29, 70)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_sums(x_ptr, sums_ptr, N, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    tl.store(sums_ptr + row, tl.sum(tl.abs(x), axis=0))


def prepare(arguments, reset_only=False):
    x = arguments["x_ptr"]
    row_sums[(x.shape[0],)](x, arguments["sums_ptr"], x.shape[1], COLS=128)


@triton.autotune(
    configs=[triton.Config({"COLS": 128}, num_warps=2), triton.Config({"COLS": 128}, num_warps=4)],
    key=["N"],
    pre_hook=prepare,
)
@triton.jit
def divide_rows(x_ptr, sums_ptr, y_ptr, N, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    tl.store(y_ptr + row * N + c, x / tl.load(sums_ptr + row), mask=c < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.sums = None

    def forward(self, x):
        if self.sums is None:
            self.sums = torch.empty(x.shape[0], device=x.device)
        y = torch.empty_like(x)
        divide_rows[(x.shape[0],)](x, self.sums, y, x.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_sums(x_ptr, sums_ptr, N, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    tl.store(sums_ptr + row, tl.sum(tl.abs(x), axis=0))


def prepare(arguments, reset_only=False):
    x = arguments["x_ptr"]
    row_sums[(x.shape[0],)](x, arguments["sums_ptr"], x.shape[1], COLS=128)


@triton.autotune(
    configs=[triton.Config({"COLS": 128}, num_warps=2), triton.Config({"COLS": 128}, num_warps=4)],
    key=["N"],
)
@triton.jit
def divide_rows(x_ptr, sums_ptr, y_ptr, N, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    tl.store(y_ptr + row * N + c, x / tl.load(sums_ptr + row), mask=c < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.sums = None

    def forward(self, x):
        self.sums = torch.empty(x.shape[0], device=x.device)
        y = torch.empty_like(x)
        prepare({"x_ptr": x, "sums_ptr": self.sums})
        divide_rows[(x.shape[0],)](x, self.sums, y, x.shape[1])
        return y
