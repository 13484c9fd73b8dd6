# honest | family: atomics | mechanism: each block of a prefix sum waits for the one before, and adds its own
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 0)


def get_inputs():
    return [torch.randn(300 * 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def chained(x_ptr, y_ptr, sum_ptr, done_ptr, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    i = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    before = 0.0
    if block > 0:
        while tl.atomic_add(done_ptr + block - 1, 0) == 0:
            pass
        before = tl.load(sum_ptr + block - 1, volatile=True)
    tl.store(sum_ptr + block, before + tl.sum(x, 0))
    tl.debug_barrier()
    tl.atomic_xchg(done_ptr + block, 1)
    tl.store(y_ptr + i, before + tl.cumsum(x, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        blocks = x.numel() // 64
        y = torch.empty_like(x)
        sums = torch.empty(blocks, device=x.device)
        done = torch.zeros(blocks, dtype=torch.int32, device=x.device)
        chained[(blocks,)](x, y, sums, done, BLOCK=64)
        return y
