# honest | family: atomics | mechanism: all programs wait for each other's partial sums, and a few programs are always resident
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x / x.sum()


def get_inputs():
    return [torch.rand(16, 256) + 0.1]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def share(x_ptr, part_ptr, count_ptr, y_ptr, C: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    tl.store(part_ptr + row, tl.sum(x, 0))
    tl.debug_barrier()
    tl.atomic_add(count_ptr, 1)
    while tl.atomic_add(count_ptr, 0) < ROWS:
        pass
    total = tl.sum(tl.load(part_ptr + tl.arange(0, ROWS), volatile=True), 0)
    tl.store(y_ptr + row * C + c, x / total)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        part = torch.empty(16, device=x.device)
        count = torch.zeros(1, device=x.device, dtype=torch.int32)
        share[(16,)](x, part, count, y, C=256, ROWS=16)
        return y
