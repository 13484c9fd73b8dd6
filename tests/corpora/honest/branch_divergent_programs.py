# honest | family: language | mechanism: if/else on data loaded by each program, nested return of scalars from a helper with two returns
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, kind):
        k = kind[:, None]
        return torch.where(k == 0, x.exp(), torch.where(k == 1, x * x, -x))


def get_inputs():
    return [torch.randn(30, 26), torch.randint(0, 3, (30,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pick(kind, x):
    if kind == 0:
        y = tl.exp(x)
    elif kind == 1:
        y = x * x
    else:
        y = -x
    return y


@triton.jit
def per_row(x_ptr, kind_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    kind = tl.load(kind_ptr + row)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    tl.store(y_ptr + row * N + c, pick(kind, x), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x, kind):
        y = torch.empty_like(x)
        per_row[(x.shape[0],)](x, kind, y, x.shape[1], BLOCK=32)
        return y
