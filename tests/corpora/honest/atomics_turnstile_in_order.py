# honest | family: atomics | mechanism: programs add to one row in the order of their numbers, which they wait for
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x).sum(0)


def get_inputs():
    return [torch.randn(24, 128)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, turn_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.maximum(tl.load(x_ptr + row * C + c), 0.0)
    while tl.atomic_cas(turn_ptr, row, row) != row:
        pass
    tl.store(y_ptr + c, tl.load(y_ptr + c) + x)
    tl.debug_barrier()
    tl.atomic_xchg(turn_ptr, row + 1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros(128, device=x.device)
        turn = torch.zeros(1, device=x.device, dtype=torch.int32)
        add[(24,)](x, turn, y, C=128)
        return y
