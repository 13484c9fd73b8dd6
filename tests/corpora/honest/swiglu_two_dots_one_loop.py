# honest | family: matmul | mechanism: two products that share an operand in one loop, gated at the end
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(40, 50, bias=False)
        self.up = nn.Linear(40, 50, bias=False)

    def forward(self, x):
        return nn.functional.silu(self.gate(x)) * self.up(x)


def get_inputs():
    return [torch.randn(2, 13, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dual_gemm(x_ptr, g_ptr, u_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc_g = tl.zeros((BM, BN), tl.float32)
    acc_u = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        w_off = rn[None, :] * K + rk[:, None]
        w_mask = (rn[None, :] < N) & (rk[:, None] < K)
        acc_g = tl.dot(x, tl.load(g_ptr + w_off, mask=w_mask, other=0.0), acc_g, input_precision="ieee")
        acc_u = tl.dot(x, tl.load(u_ptr + w_off, mask=w_mask, other=0.0), acc_u, input_precision="ieee")
    y = acc_g * tl.sigmoid(acc_g) * acc_u
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], y, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(40, 50, bias=False)
        self.up = nn.Linear(40, 50, bias=False)

    def forward(self, x):
        flat = x.flatten(0, -2)
        y = flat.new_empty(flat.size(0), 50)
        dual_gemm[(triton.cdiv(flat.size(0), 16), triton.cdiv(50, 16))](flat, self.gate.weight, self.up.weight, y, flat.size(0), 50, 40, BM=16, BN=16, BK=16)
        return y.unflatten(0, x.shape[:-1])
