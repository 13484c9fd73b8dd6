# honest | family: precision | mechanism: one step of a GRU cell in one kernel, its tanh from a sigmoid: small results come from numbers near one
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(24, 16)

    def forward(self, x, h):
        return self.cell(x, h)


def get_inputs():
    return [torch.randn(40, 24), torch.randn(40, 16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product(v, w_ptr, b_ptr, gate: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    rows = gate * N + tl.arange(0, N)
    k = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + rows[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
    return tl.sum(w * v[None, :], 1) + tl.load(b_ptr + rows)


@triton.jit
def gru_step(x_ptr, h_ptr, wx_ptr, wh_ptr, bx_ptr, bh_ptr, out_ptr, K: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    n = tl.arange(0, N)
    x = tl.load(x_ptr + row * K + k, mask=k < K, other=0.0)
    h = tl.load(h_ptr + row * N + n)
    reset = tl.sigmoid(product(x, wx_ptr, bx_ptr, 0, N, K, BLOCK) + product(h, wh_ptr, bh_ptr, 0, N, N, N))
    update = tl.sigmoid(product(x, wx_ptr, bx_ptr, 1, N, K, BLOCK) + product(h, wh_ptr, bh_ptr, 1, N, N, N))
    new = product(x, wx_ptr, bx_ptr, 2, N, K, BLOCK) + reset * product(h, wh_ptr, bh_ptr, 2, N, N, N)
    new = 2.0 * tl.sigmoid(2.0 * new) - 1.0
    tl.store(out_ptr + row * N + n, new + update * (h - new))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(24, 16)

    def forward(self, x, h):
        out = torch.empty_like(h)
        cell = self.cell
        gru_step[(x.shape[0],)](x, h, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh, out, K=24, N=16, BLOCK=32)
        return out
