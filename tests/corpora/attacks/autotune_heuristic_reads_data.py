# program wrong | family: autotune | mechanism: a heuristic reads the input's extremes and drops the shift where it is not needed | stage: record | check: host-read
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.logsumexp(x, dim=1)


def get_inputs():
    return [torch.randn(33, 50)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({"SHIFT": lambda args: not float(args["x_ptr"].abs().max()) > 40.0})
@triton.jit
def row_logsumexp(x_ptr, y_ptr, N, COLS: tl.constexpr, SHIFT: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=-float("inf"))
    top = tl.max(x, axis=0) if SHIFT else 0.0
    tl.store(y_ptr + row, tl.log(tl.sum(tl.exp(x - top), axis=0)) + top)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        row_logsumexp[(x.shape[0],)](x, y, x.shape[1], COLS=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({"SHIFT": lambda args: args["N"] > 1})
@triton.jit
def row_logsumexp(x_ptr, y_ptr, N, COLS: tl.constexpr, SHIFT: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=-float("inf"))
    top = tl.max(x, axis=0) if SHIFT else 0.0
    tl.store(y_ptr + row, tl.log(tl.sum(tl.exp(x - top), axis=0)) + top)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        row_logsumexp[(x.shape[0],)](x, y, x.shape[1], COLS=64)
        return y
