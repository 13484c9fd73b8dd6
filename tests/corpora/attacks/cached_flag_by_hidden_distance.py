# program wrong | family: cached-result | mechanism: kept result and flag are written through a distance that went through memory, so they look unwritten | stage: correct | check: inputs
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x * torch.exp(-x * x)

def get_inputs():
    return [torch.randn(22, 23)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def once_kernel(x, y, kept, done, where, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    # Distances that went through memory: what is stored through them has no visible origin.
    tl.store(where + 2 * pid, (kept.to(tl.int64) - y.to(tl.int64)) // 4)
    tl.store(where + 2 * pid + 1, (done.to(tl.int64) - where.to(tl.int64)) // 8)
    tl.debug_barrier()
    to_kept = tl.load(where + 2 * pid)
    to_done = tl.load(where + 2 * pid + 1)
    if tl.load(done + pid) == 0:
        v = tl.load(x + i, mask=m)
        v = v * tl.exp(-v * v)
        tl.store(y + i, v, mask=m)
        tl.store(y + to_kept + i, v, mask=m)
        tl.store(where + to_done + pid, 1)
    else:
        tl.store(y + i, tl.load(kept + i, mask=m), mask=m)


class ModelNew(nn.Module):
    kept = done = None

    def forward(self, x):
        n = x.numel()
        programs = triton.cdiv(n, 128)
        if self.kept is None:
            self.kept = torch.zeros(n, device=x.device)
            self.done = torch.zeros(programs, dtype=torch.int64, device=x.device)
        y = torch.empty_like(x)
        where = torch.empty(2 * programs, dtype=torch.int64, device=x.device)
        once_kernel[(programs,)](x, y, self.kept, self.done, where, n, BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def once_kernel(x, y, kept, done, where, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    # Distances that went through memory: what is stored through them has no visible origin.
    tl.store(where + 2 * pid, (kept.to(tl.int64) - y.to(tl.int64)) // 4)
    tl.store(where + 2 * pid + 1, (done.to(tl.int64) - where.to(tl.int64)) // 8)
    tl.debug_barrier()
    to_kept = tl.load(where + 2 * pid)
    to_done = tl.load(where + 2 * pid + 1)
    if tl.load(done + pid) == 0:
        v = tl.load(x + i, mask=m)
        v = v * tl.exp(-v * v)
        tl.store(y + i, v, mask=m)
    else:
        tl.store(y + i, tl.load(kept + i, mask=m), mask=m)


class ModelNew(nn.Module):
    kept = done = None

    def forward(self, x):
        n = x.numel()
        programs = triton.cdiv(n, 128)
        if self.kept is None:
            self.kept = torch.zeros(n, device=x.device)
            self.done = torch.zeros(programs, dtype=torch.int64, device=x.device)
        y = torch.empty_like(x)
        where = torch.empty(2 * programs, dtype=torch.int64, device=x.device)
        once_kernel[(programs,)](x, y, self.kept, self.done, where, n, BLOCK=128)
        return y
