# program wrong | family: whole | mechanism: the last row of a table is left out, which few draws hit | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(20000, 16))

    def forward(self, tokens):
        return torch.tanh(self.table[tokens])


def get_inputs():
    return [torch.randint(0, 20000, (96,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def look_up(t_ptr, i_ptr, y_ptr, ROWS, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    at = tl.load(i_ptr + row)
    v = tl.load(t_ptr + at * C + c, mask=(c < C) & (at < ROWS - 1), other=0.0)
    tl.store(y_ptr + row * C + c, 1 - 2 / (tl.exp(2 * v) + 1))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(20000, 16))

    def forward(self, tokens):
        y = torch.empty((96, 16), device=tokens.device)
        look_up[(96,)](self.table, tokens, y, 20000, C=16)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def look_up(t_ptr, i_ptr, y_ptr, ROWS, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    at = tl.load(i_ptr + row)
    v = tl.load(t_ptr + at * C + c, mask=(c < C) & (at < ROWS), other=0.0)
    tl.store(y_ptr + row * C + c, 1 - 2 / (tl.exp(2 * v) + 1))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(20000, 16))

    def forward(self, tokens):
        y = torch.empty((96, 16), device=tokens.device)
        look_up[(96,)](self.table, tokens, y, 20000, C=16)
        return y
