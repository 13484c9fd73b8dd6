# honest | family: atomics | mechanism: last block to finish, known by an atomic counter, sums the partial results
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return ((x - y) ** 2).sum()


def get_inputs():
    return [torch.randn(41, 67), torch.randn(41, 67)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sse(x_ptr, y_ptr, partial_ptr, counter_ptr, out_ptr, n, n_blocks, BLOCK: tl.constexpr,
        MAX_BLOCKS: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    m = offs < n
    d = tl.load(x_ptr + offs, mask=m, other=0.0) - tl.load(y_ptr + offs, mask=m, other=0.0)
    tl.store(partial_ptr + pid, tl.sum(d * d, axis=0))
    tl.debug_barrier()
    done = tl.atomic_add(counter_ptr, 1, sem="acq_rel")
    if done == n_blocks - 1:
        i = tl.arange(0, MAX_BLOCKS)
        parts = tl.load(partial_ptr + i, mask=i < n_blocks, other=0.0, volatile=True)
        tl.store(out_ptr, tl.sum(parts, axis=0))


class ModelNew(nn.Module):
    def forward(self, x, y):
        n = x.numel()
        blocks = triton.cdiv(n, 256)
        partial = torch.empty(blocks, device=x.device, dtype=torch.float32)
        counter = torch.zeros(1, device=x.device, dtype=torch.int32)
        out = torch.empty((), device=x.device, dtype=torch.float32)
        sse[(blocks,)](x, y, partial, counter, out, n, blocks, BLOCK=256,
                       MAX_BLOCKS=triton.next_power_of_2(blocks))
        return out
