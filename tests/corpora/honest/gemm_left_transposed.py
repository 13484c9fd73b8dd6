# honest | family: matmul | mechanism: A^T B product (Gram matrix), operand transposed inside with tl.trans, modulo wrapped rows
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.t() @ x / x.shape[0]


def get_inputs():
    return [torch.randn(58, 23)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gram(x_ptr, g_ptr, N, D, BD: tl.constexpr, BN: tl.constexpr):
    i = (tl.program_id(0) * BD + tl.arange(0, BD)) % D
    j = (tl.program_id(1) * BD + tl.arange(0, BD)) % D
    acc = tl.zeros((BD, BD), tl.float32)
    for n0 in range(0, N, BN):
        n = n0 + tl.arange(0, BN)
        a = tl.load(x_ptr + n[:, None] * D + i[None, :], mask=n[:, None] < N, other=0.0)
        b = tl.load(x_ptr + n[:, None] * D + j[None, :], mask=n[:, None] < N, other=0.0)
        acc += tl.dot(tl.trans(a), b, input_precision="ieee")
    oi = tl.program_id(0) * BD + tl.arange(0, BD)
    oj = tl.program_id(1) * BD + tl.arange(0, BD)
    tl.store(g_ptr + oi[:, None] * D + oj[None, :], acc / N, mask=(oi[:, None] < D) & (oj[None, :] < D))


class ModelNew(nn.Module):
    def forward(self, x):
        N, D = x.shape
        g = torch.empty(D, D, device=x.device, dtype=x.dtype)
        tiles = triton.cdiv(D, 16)
        gram[(tiles, tiles)](x, g, N, D, BD=16, BN=16)
        return g
