# honest | family: atomics | mechanism: partial sums, left there, and a semaphore, reset by the last block, in one integer tensor of the module
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
def rms_all(x_ptr, work_ptr, out_ptr, n, blocks, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(work_ptr + pid, tl.sum(x * x, 0).to(tl.int32, bitcast=True))
    tl.debug_barrier()
    if tl.atomic_add(work_ptr + PARTS, 1, sem="acq_rel", scope="gpu") == blocks - 1:
        p = tl.arange(0, PARTS)
        bits = tl.load(work_ptr + p, mask=p < blocks, other=0, volatile=True)
        total = tl.sum(bits.to(tl.float32, bitcast=True), 0)
        tl.store(out_ptr, tl.sqrt(total / n))
        tl.atomic_xchg(work_ptr + PARTS, 0)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.work = torch.zeros(17, dtype=torch.int32)

    def forward(self, x):
        self.work = self.work.to(x.device)
        blocks = triton.cdiv(x.numel(), 256)
        out = torch.empty((), device=x.device)
        rms_all[(blocks,)](x, self.work, out, x.numel(), blocks, BLOCK=256, PARTS=16)
        return out
