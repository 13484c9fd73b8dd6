# honest | family: precision | mechanism: int8 weight buffer with per-row scale, dequantised inside the kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("q", torch.randint(-127, 128, (40, 64), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(40) * 0.01 + 0.001)

    def forward(self, x):
        return x @ (self.q.float() * self.scale[:, None]).t()


def get_inputs():
    return [torch.randn(19, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def int8_linear(x_ptr, q_ptr, s_ptr, y_ptr, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, K)
    x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=rm[:, None] < M, other=0.0)
    q = tl.load(q_ptr + rn[:, None] * K + rk[None, :], mask=rn[:, None] < N, other=0)
    s = tl.load(s_ptr + rn, mask=rn < N, other=0.0)
    y = tl.dot(x, tl.trans(q.to(tl.float32)), input_precision="ieee") * s[None, :]
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], y, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("q", torch.randint(-127, 128, (40, 64), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(40) * 0.01 + 0.001)

    def forward(self, x):
        y = x.new_empty(x.shape[0], 40)
        int8_linear[(triton.cdiv(x.shape[0], 16), 3)](x, self.q, self.scale, y, x.shape[0], 40, K=64, BM=16, BN=16)
        return y
