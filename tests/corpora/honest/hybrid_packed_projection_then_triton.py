# honest | family: hybrid | mechanism: projections packed into one PyTorch product, attention without a softmax by Triton
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(32, 16) / 6)
        self.k = nn.Parameter(torch.randn(32, 16) / 6)
        self.v = nn.Parameter(torch.randn(32, 16) / 6)

    def forward(self, x):
        return ((x @ self.q) @ (x @ self.k).transpose(1, 2)) @ (x @ self.v)


def get_inputs():
    return [torch.randn(2, 40, 32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def products(x_ptr, w_ptr, y_ptr, M, K, N, sb, sk, sn, BM: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    batch = tl.program_id(0)
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(2) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(x_ptr + batch * M * K + m[:, None] * K + k[None, :],
                    mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + batch * sb + k[:, None] * sk + n[None, :] * sn,
                    mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
    tl.store(y_ptr + batch * M * N + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def multiply(x, w):
    B, M, K = x.shape
    N = w.shape[2]
    y = torch.empty((B, M, N), device=x.device, dtype=x.dtype)
    products[(B, triton.cdiv(M, 32), triton.cdiv(N, 32))](x, w, y, M, K, N, *w.stride(), BM=32, BK=32, BN=32)
    return y


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(32, 16) / 6)
        self.k = nn.Parameter(torch.randn(32, 16) / 6)
        self.v = nn.Parameter(torch.randn(32, 16) / 6)
        self.all = None

    def forward(self, x):
        if self.all is None:
            self.all = torch.cat([self.q, self.k, self.v], 1)
        q, k, v = (part.contiguous() for part in (x @ self.all).split(16, -1))
        return multiply(q, multiply(k.transpose(1, 2).contiguous(), v))
