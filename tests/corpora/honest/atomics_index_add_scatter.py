# honest | family: atomics | mechanism: segment sums: rows scattered by an index tensor with atomic_add, relaxed order
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, values, index):
        out = torch.zeros(10, values.shape[1], device=values.device, dtype=values.dtype)
        return out.index_add(0, index, torch.exp(-values * values))


def get_inputs():
    return [torch.randn(90, 33), torch.randint(0, 10, (90,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scatter_rows(v_ptr, idx_ptr, out_ptr, D, BLOCK_D: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    target = tl.load(idx_ptr + row)
    v = tl.load(v_ptr + row * D + d, mask=d < D, other=0.0)
    tl.atomic_add(out_ptr + target * D + d, tl.exp(-v * v), mask=d < D, sem="relaxed")


class ModelNew(nn.Module):
    def forward(self, values, index):
        n, d = values.shape
        out = values.new_zeros((10, d))
        scatter_rows[(n,)](values, index, out, d, BLOCK_D=triton.next_power_of_2(d))
        return out
