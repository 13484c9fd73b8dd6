# honest | family: several-kernels | mechanism: split-K into a workspace of partial tiles, second kernel reduces the splits and adds the bias
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(160, 22)

    def forward(self, x):
        return torch.tanh(self.fc(x))


def get_inputs():
    return [torch.randn(17, 160)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def partial_mm(x, w, ws, M, N, K, CHUNK, B: tl.constexpr):
    s = tl.program_id(2)
    rm = tl.program_id(0) * B + tl.arange(0, B)
    rn = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    end = min((s + 1) * CHUNK, K)
    for k in range(s * CHUNK, end, B):
        rk = k + tl.arange(0, B)
        a = tl.load(x + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None] & (rk < end)[None, :], other=0.0)
        b = tl.load(w + rn[None, :] * K + rk[:, None], mask=(rn < N)[None, :] & (rk < end)[:, None], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(ws + s * M * N + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


@triton.jit
def reduce_splits(ws, bias, y, n, N, SPLITS: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.arange(0, SPLITS)
    parts = tl.load(ws + s[:, None] * n + i[None, :], mask=i[None, :] < n, other=0.0)
    v = tl.sum(parts, axis=0) + tl.load(bias + i % N, mask=i < n, other=0.0)
    tl.store(y + i, libdevice.tanh(v), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(160, 22)

    def forward(self, x):
        M, K = x.shape
        N, splits = 22, 4
        ws = torch.empty(splits, M, N, device=x.device, dtype=torch.float32)
        y = torch.empty(M, N, device=x.device)
        partial_mm[(triton.cdiv(M, 16), triton.cdiv(N, 16), splits)](x, self.fc.weight, ws, M, N, K, triton.cdiv(K, splits), B=16)
        reduce_splits[(triton.cdiv(M * N, 128),)](ws, self.fc.bias, y, M * N, N, SPLITS=splits, B=128)
        return y
