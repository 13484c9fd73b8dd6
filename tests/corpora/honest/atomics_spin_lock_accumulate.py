# honest | family: atomics | mechanism: partial weight gradients accumulated under a spin lock of atomic_cas and atomic_xchg
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, dy, x):
        return (dy * x).sum(0), dy.sum(0)


def get_inputs():
    return [torch.randn(48, 40), torch.randn(48, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def grads(dy_ptr, x_ptr, dw_ptr, db_ptr, lock_ptr, N, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    dy = tl.load(dy_ptr + row * N + c, mask=m, other=0.0)
    dw = dy * tl.load(x_ptr + row * N + c, mask=m, other=0.0)
    slot = row % GROUP
    lock = lock_ptr + slot
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    dw += tl.load(dw_ptr + slot * N + c, mask=m)
    dy += tl.load(db_ptr + slot * N + c, mask=m)
    tl.store(dw_ptr + slot * N + c, dw, mask=m)
    tl.store(db_ptr + slot * N + c, dy, mask=m)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def sum_groups(part_ptr, out_ptr, N, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    g = tl.arange(0, GROUP)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(part_ptr + g[:, None] * N + c[None, :], mask=(c < N)[None, :], other=0.0)
    tl.store(out_ptr + c, tl.sum(p, axis=0), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, dy, x):
        M, N = x.shape
        dw_part = torch.zeros(4, N, device=x.device)
        db_part = torch.zeros(4, N, device=x.device)
        locks = torch.zeros(4, dtype=torch.int32, device=x.device)
        grads[(M,)](dy, x, dw_part, db_part, locks, N, GROUP=4, BLOCK=64)
        dw, db = torch.empty(N, device=x.device), torch.empty(N, device=x.device)
        for part, out in ((dw_part, dw), (db_part, db)):
            sum_groups[(triton.cdiv(N, 32),)](part, out, N, GROUP=4, BLOCK=32)
        return dw, db
