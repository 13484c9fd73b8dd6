# honest | family: atomics | mechanism: semaphore buffer of the constructor, the last block resets it to zero
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.pow(2).mean().sqrt()


def get_inputs():
    return [torch.randn(57, 43)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_all(x_ptr, part_ptr, sem_ptr, out_ptr, n, blocks, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(part_ptr + pid, tl.sum(x * x, 0))
    tl.debug_barrier()
    if tl.atomic_add(sem_ptr, 1, sem="acq_rel", scope="gpu") == blocks - 1:
        p = tl.arange(0, PARTS)
        total = tl.sum(tl.load(part_ptr + p, mask=p < blocks, other=0.0, volatile=True), 0)
        tl.store(out_ptr, tl.sqrt(total / n))
        tl.atomic_xchg(sem_ptr, 0)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("semaphore", torch.zeros(1, dtype=torch.int32), persistent=False)

    def forward(self, x):
        blocks = triton.cdiv(x.numel(), 256)
        part = torch.empty(blocks, device=x.device)
        out = torch.empty((), device=x.device)
        rms_all[(blocks,)](x, part, self.semaphore, out, x.numel(), blocks, BLOCK=256, PARTS=triton.next_power_of_2(blocks))
        return out
