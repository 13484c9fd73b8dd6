# honest | family: host | mechanism: optional pointer argument given as None with a HAS_BIAS constexpr
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 30, bias=False)
        self.b = nn.Linear(30, 21, bias=True)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def get_inputs():
    return [torch.randn(18, 32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lin(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, HAS_BIAS: tl.constexpr, ACT: tl.constexpr, B: tl.constexpr):
    rm = tl.program_id(0) * B + tl.arange(0, B)
    rn = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        rk = k + tl.arange(0, B)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        w = tl.load(w_ptr + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(b_ptr + rn, mask=rn < N, other=0.0)[None, :]
    if ACT is not None:
        acc = tl.maximum(acc, 0.0)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def linear(x, layer, act=None):
    M, N = x.shape[0], layer.out_features
    y = x.new_empty(M, N)
    lin[(triton.cdiv(M, 16), triton.cdiv(N, 16))](x, layer.weight, layer.bias, y, M, N, x.shape[1],
                                                 HAS_BIAS=layer.bias is not None, ACT=act, B=16)
    return y


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 30, bias=False)
        self.b = nn.Linear(30, 21, bias=True)

    def forward(self, x):
        return linear(linear(x, self.a, "relu"), self.b)
