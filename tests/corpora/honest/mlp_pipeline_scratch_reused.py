# honest | family: several-kernels | mechanism: pipeline of three layers, one kernel with activation flag, hidden buffer reused
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(36, 52), nn.SiLU(), nn.Linear(52, 52), nn.SiLU(),
                                 nn.Linear(52, 52), nn.SiLU(), nn.Linear(52, 9))

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.randn(21, 36)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dense(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, SILU: tl.constexpr, BM: tl.constexpr,
          BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :],
                    mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        w = tl.load(w_ptr + rn[:, None] * K + rk[None, :],
                    mask=(rn[:, None] < N) & (rk[None, :] < K), other=0.0)
        acc += tl.dot(x, tl.trans(w), input_precision="ieee")
    acc += tl.load(b_ptr + rn, mask=rn < N, other=0.0)[None, :]
    if SILU:
        acc = acc * tl.sigmoid(acc)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(36, 52), nn.SiLU(), nn.Linear(52, 52), nn.SiLU(),
                                 nn.Linear(52, 52), nn.SiLU(), nn.Linear(52, 9))

    def forward(self, x):
        linears = [m for m in self.net if isinstance(m, nn.Linear)]
        M = x.shape[0]
        hidden = [torch.empty(M, 52, device=x.device), torch.empty(M, 52, device=x.device)]
        out = torch.empty(M, 9, device=x.device)
        h = x
        for i, fc in enumerate(linears):
            last = i + 1 == len(linears)
            y = out if last else hidden[i % 2]
            dense[(triton.cdiv(M, 16), triton.cdiv(fc.out_features, 16))](
                h, fc.weight, fc.bias, y, M, fc.out_features, fc.in_features, SILU=not last,
                BM=16, BN=16, BK=16)
            h = y
        return h
