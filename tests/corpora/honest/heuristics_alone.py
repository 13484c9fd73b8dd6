# honest | family: autotune | mechanism: triton.heuristics without autotune chooses block, warps and a contiguity flag from strides
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=1) * 0.1


def get_inputs():
    return [torch.randn(18, 52)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({
    "BLOCK": lambda a: triton.next_power_of_2(a["N"]),
    "CONTIGUOUS": lambda a: a["stride_n"] == 1,
    "num_warps": lambda a: 1 if a["N"] <= 64 else 4,
})
@triton.jit
def row_scan(x_ptr, y_ptr, N, stride_m, stride_n, BLOCK: tl.constexpr, CONTIGUOUS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    offs = c if CONTIGUOUS else c * stride_n
    x = tl.load(x_ptr + row * stride_m + offs, mask=c < N, other=0.0)
    tl.store(y_ptr + row * N + c, tl.cumsum(x, 0) * 0.1, mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape, device=x.device)
        row_scan[(x.shape[0],)](x, y, x.shape[1], *x.stride())
        return y
