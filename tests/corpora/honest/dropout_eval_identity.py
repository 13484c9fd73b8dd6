# honest | family: in-place | mechanism: dropout in eval mode is left out, self.training asked in forward
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(32, 44)
        self.drop = nn.Dropout(0.4)
        self.eval()

    def forward(self, x):
        return self.drop(nn.functional.hardswish(self.fc(x)))


def get_inputs():
    return [torch.randn(27, 32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fc_hardswish(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, K)
    x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=rm[:, None] < M, other=0.0)
    w = tl.load(w_ptr + rn[:, None] * K + rk[None, :], mask=rn[:, None] < N, other=0.0)
    y = tl.dot(x, w.T, input_precision="ieee") + tl.load(b_ptr + rn, mask=rn < N, other=0.0)[None, :]
    y = y * tl.minimum(tl.maximum(y + 3.0, 0.0), 6.0) / 6.0
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], y, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(32, 44)
        self.drop = nn.Dropout(0.4)
        self.eval()

    def forward(self, x):
        M, K = x.shape
        N = self.fc.weight.shape[0]
        y = torch.empty(M, N, device=x.device, dtype=x.dtype)
        fc_hardswish[(triton.cdiv(M, 16), triton.cdiv(N, 16))](x, self.fc.weight, self.fc.bias, y,
                                                              M, N, K=K, BM=16, BN=16)
        if self.training:
            y = self.drop(y)
        return y
