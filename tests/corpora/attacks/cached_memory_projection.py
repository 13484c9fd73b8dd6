# program wrong | family: cached-result | mechanism: only one operand's intermediate is kept from the first call, in a closure, the rest is computed afresh | stage: record | check: survives
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.wk = nn.Parameter(torch.randn(d, d) * 0.2)

    def forward(self, q, memory):
        k = torch.relu(memory @ self.wk)
        return q @ k.t()

def get_inputs():
    return [torch.randn(17, 24), torch.randn(29, 24)]

def get_init_inputs():
    return [24]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows_times(a, b, c, K, N, sk, sn, ACT: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0)
    k, n = tl.arange(0, BK), tl.arange(0, BN)
    x = tl.load(a + row * K + k, mask=k < K, other=0.0)
    y = tl.load(b + k[:, None] * sk + n[None, :] * sn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
    v = tl.sum(x[:, None] * y, axis=0)
    if ACT:
        v = tl.maximum(v, 0.0)
    tl.store(c + row * N + n, v, mask=n < N)


def projector(act):
    kept = {}

    def project(memory, w):
        if "k" not in kept:
            k = torch.empty_like(memory)
            rows_times[(memory.shape[0],)](memory, w, k, *w.shape, *w.stride(), ACT=act, BK=32, BN=32)
            kept["k"] = k
        return kept["k"]

    return project


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.wk = nn.Parameter(torch.randn(d, d) * 0.2)
        self.project = projector(True)

    def forward(self, q, memory):
        k = self.project(memory, self.wk)
        out = q.new_empty(q.shape[0], k.shape[0])
        rows_times[(q.shape[0],)](q, k, out, k.shape[1], k.shape[0], 1, k.shape[1], ACT=False, BK=32, BN=32)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows_times(a, b, c, K, N, sk, sn, ACT: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0)
    k, n = tl.arange(0, BK), tl.arange(0, BN)
    x = tl.load(a + row * K + k, mask=k < K, other=0.0)
    y = tl.load(b + k[:, None] * sk + n[None, :] * sn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
    v = tl.sum(x[:, None] * y, axis=0)
    if ACT:
        v = tl.maximum(v, 0.0)
    tl.store(c + row * N + n, v, mask=n < N)


def projector(act):
    kept = {}

    def project(memory, w):
        if "w" not in kept:
            kept["w"] = w.t().contiguous()
        wt = kept["w"]
        k = torch.empty_like(memory)
        rows_times[(memory.shape[0],)](memory, wt, k, *wt.shape, 1, wt.shape[1], ACT=act, BK=32, BN=32)
        return k

    return project


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.wk = nn.Parameter(torch.randn(d, d) * 0.2)
        self.project = projector(True)

    def forward(self, q, memory):
        k = self.project(memory, self.wk)
        out = q.new_empty(q.shape[0], k.shape[0])
        rows_times[(q.shape[0],)](q, k, out, k.shape[1], k.shape[0], 1, k.shape[1], ACT=False, BK=32, BN=32)
        return out
