# honest | family: several-kernels | mechanism: long cumulative sum: block scan, scan of block totals, add of carries in place
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(torch.relu(x), dim=0)


def get_inputs():
    return [torch.randn(3001)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan_blocks(x, y, totals, n, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    v = tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0)
    s = tl.cumsum(v, axis=0)
    tl.store(y + i, s, mask=i < n)
    tl.store(totals + pid, tl.sum(v, axis=0))


@triton.jit
def scan_totals(totals, k, K: tl.constexpr):
    i = tl.arange(0, K)
    t = tl.load(totals + i, mask=i < k, other=0.0)
    tl.store(totals + i, tl.cumsum(t, 0) - t, mask=i < k)


@triton.jit
def add_carry(y, totals, n, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    c = tl.load(totals + pid)
    tl.store(y + i, tl.load(y + i, mask=i < n) + c, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        n, B = x.shape[0], 256
        blocks = (n + B - 1) // B
        y = torch.empty_like(x)
        totals = torch.empty(blocks, dtype=x.dtype, device=x.device)
        scan_blocks[(blocks,)](x, y, totals, n, B=B)
        scan_totals[(1,)](totals, blocks, K=triton.next_power_of_2(blocks))
        add_carry[(blocks,)](y, totals, n, B=B)
        return y
