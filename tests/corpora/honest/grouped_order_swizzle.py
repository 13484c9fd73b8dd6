# honest | family: matmul | mechanism: tile order by tl.swizzle2d, fused bias and squared ReLU
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(45, 70) * 0.2)
        self.bias = nn.Parameter(torch.randn(70))

    def forward(self, x):
        return torch.relu(x @ self.weight + self.bias).square()


def get_inputs():
    return [torch.randn(80, 45)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mm_swizzled(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr):
    pid_m, pid_n = tl.swizzle2d(tl.program_id(0), tl.program_id(1), tl.num_programs(0), tl.num_programs(1), GROUP_M)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(tl.cdiv(K, BK)):
        rk = k * BK + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk, mask=(rm[:, None] < M) & (rk < K), other=0.0)
        w = tl.load(w_ptr + rk[:, None] * N + rn, mask=(rk[:, None] < K) & (rn < N), other=0.0)
        acc += tl.dot(x, w, input_precision="ieee")
    acc += tl.load(b_ptr + rn, mask=rn < N, other=0.0)
    acc = tl.maximum(acc, 0.0)
    tl.store(y_ptr + rm[:, None] * N + rn, acc * acc, mask=(rm[:, None] < M) & (rn < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(45, 70) * 0.2)
        self.bias = nn.Parameter(torch.randn(70))

    def forward(self, x):
        M, K = x.shape
        N = self.weight.shape[1]
        y = torch.empty(M, N, device=x.device)
        mm_swizzled[(triton.cdiv(M, 16), triton.cdiv(N, 16))](x, self.weight, self.bias, y, M, N, K, BM=16, BN=16, BK=16, GROUP_M=2)
        return y
