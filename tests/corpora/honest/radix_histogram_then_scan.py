# honest | family: several-kernels | mechanism: counting sort: histogram, scan of counts on one program, scatter by rank
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, keys):
        return torch.sort(keys, stable=True)


def get_inputs():
    return [torch.randint(0, 32, (700,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count_keys(k_ptr, counts, n, BINS: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    k = tl.load(k_ptr + i, mask=i < n, other=-1)
    hits = (k[:, None] == tl.arange(0, BINS)[None, :]).to(tl.int32)
    tl.store(counts + tl.arange(0, BINS) * tl.num_programs(0) + pid, tl.sum(hits, axis=0))


@triton.jit
def scan_counts(counts, m, M: tl.constexpr):
    i = tl.arange(0, M)
    c = tl.load(counts + i, mask=i < m, other=0)
    tl.store(counts + i, tl.cumsum(c, axis=0) - c, mask=i < m)


@triton.jit
def place(k_ptr, starts, v_ptr, idx_ptr, n, BINS: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    k = tl.load(k_ptr + i, mask=i < n, other=-1)
    hits = (k[:, None] == tl.arange(0, BINS)[None, :]).to(tl.int32)
    rank = tl.sum((tl.cumsum(hits, axis=0) - 1) * hits, axis=1)
    start = tl.load(starts + k * tl.num_programs(0) + pid, mask=i < n, other=0)
    tl.store(v_ptr + start + rank, k, mask=i < n)
    tl.store(idx_ptr + start + rank, i.to(tl.int64), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, keys):
        n, B = keys.numel(), 128
        blocks = triton.cdiv(n, B)
        counts = torch.empty(32 * blocks, dtype=torch.int32, device=keys.device)
        values, index = torch.empty_like(keys), torch.empty_like(keys)
        count_keys[(blocks,)](keys, counts, n, BINS=32, B=B)
        scan_counts[(1,)](counts, counts.numel(), M=triton.next_power_of_2(counts.numel()))
        place[(blocks,)](keys, counts, values, index, n, BINS=32, B=B)
        return values, index
