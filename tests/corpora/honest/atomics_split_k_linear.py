# honest | family: atomics | mechanism: split-K matmul, partial products added with atomic_add into zeros, bias by the first split
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(200, 40)

    def forward(self, x):
        return self.fc(x)


def get_inputs():
    return [torch.randn(24, 200)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def split_k(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
            BK: tl.constexpr, SPLIT_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    pid_k = tl.program_id(2)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(pid_k * BK, K, BK * SPLIT_K):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk, mask=(rm[:, None] < M) & (rk < K), other=0.)
        w = tl.load(w_ptr + rn[None, :] * K + rk[:, None],
                    mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.)
        acc += tl.dot(x, w, allow_tf32=False)
    if pid_k == 0:
        acc += tl.load(b_ptr + rn, mask=rn < N, other=0.)[None, :]
    tl.atomic_add(y_ptr + rm[:, None] * N + rn, acc, mask=(rm[:, None] < M) & (rn < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(200, 40)

    def forward(self, x):
        M, K = x.shape
        N = self.fc.out_features
        y = torch.zeros((M, N), device=x.device, dtype=torch.float32)
        grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), 4)
        split_k[grid](x, self.fc.weight, self.fc.bias, y, M, N, K, BM=16, BN=16, BK=16, SPLIT_K=4)
        return y
