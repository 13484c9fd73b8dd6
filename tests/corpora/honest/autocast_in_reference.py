# honest | family: precision | mechanism: reference runs its linear under autocast to bfloat16, candidate casts by hand
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 40)

    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = self.fc(x)
        return torch.sigmoid(y.float())


def get_inputs():
    return [torch.randn(26, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fc_bf16_sigmoid(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=rm[:, None] < M, other=0.0).to(tl.bfloat16)
        w = tl.load(w_ptr + rn[None, :] * K + rk[:, None], mask=rn[None, :] < N, other=0.0).to(tl.bfloat16)
        acc += tl.dot(x, w)
    b = tl.load(b_ptr + rn, mask=rn < N, other=0.0).to(tl.bfloat16).to(tl.float32)
    y = (acc + b[None, :]).to(tl.bfloat16).to(tl.float32)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], tl.sigmoid(y), mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 40)

    def forward(self, x):
        M, K = x.shape
        y = torch.empty(M, 40, device=x.device)
        fc_bf16_sigmoid[(triton.cdiv(M, 16), triton.cdiv(40, 16))](x, self.fc.weight, self.fc.bias, y, M, 40, K, BM=16, BN=16, BK=32)
        return y
