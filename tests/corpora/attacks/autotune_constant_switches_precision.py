# file lies | family: autotune | mechanism: a constant of one configuration rounds the operands to bfloat16
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features))

    def forward(self, x):
        return x @ self.weight


def get_inputs():
    return [torch.randn(40, 48)]


def get_init_inputs():
    return [48]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"ROWS": 16, "FAST": False}, num_warps=4),
             triton.Config({"ROWS": 32, "FAST": True}, num_warps=4)],
    key=["M"],
)
@triton.jit
def matmul(x_ptr, w_ptr, y_ptr, M, K, ROWS: tl.constexpr, COLS: tl.constexpr, FAST: tl.constexpr):
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    k = tl.arange(0, COLS)
    x = tl.load(x_ptr + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
    w = tl.load(w_ptr + k[:, None] * K + k[None, :], mask=(k[:, None] < K) & (k[None, :] < K), other=0.0)
    if FAST:
        y = tl.dot(x.to(tl.bfloat16), w.to(tl.bfloat16))
    else:
        y = tl.dot(x, w, input_precision="ieee")
    tl.store(y_ptr + m * K + k[None, :], y, mask=(m < M) & (k[None, :] < K))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features))

    def forward(self, x):
        M, K = x.shape
        y = torch.empty_like(x)
        matmul[lambda meta: (triton.cdiv(M, meta["ROWS"]),)](x, self.weight, y, M, K, COLS=64)
        return y
