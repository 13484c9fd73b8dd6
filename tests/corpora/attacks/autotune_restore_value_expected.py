# program wrong | family: autotune | mechanism: the kernel works in its input and counts on restore_value, which only timing runs heed | stage: correct | check: inputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x - x.amax(dim=1, keepdim=True))


def get_inputs():
    return [torch.randn(26, 45)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"COLS": 64}, num_warps=w) for w in (1, 2)],
    key=["N"],
    restore_value=["x_ptr"],
)
@triton.jit
def shifted_exp(x_ptr, y_ptr, N, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    tl.store(x_ptr + row * N + c, x, mask=c < N)
    tl.store(y_ptr + row * N + c, tl.exp(x), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        shifted_exp[(x.shape[0],)](x, y, x.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"COLS": 64}, num_warps=w) for w in (1, 2)],
    key=["N"],
)
@triton.jit
def shifted_exp(x_ptr, y_ptr, N, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    tl.store(y_ptr + row * N + c, tl.exp(x), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        shifted_exp[(x.shape[0],)](x, y, x.shape[1])
        return y
