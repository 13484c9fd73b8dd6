# honest | family: precision | mechanism: bool mask, int32 codes, half values and double sums from one kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        keep = x > 0.25
        codes = torch.round(x * 8.0).to(torch.int32)
        return keep, codes, torch.exp(x).half(), x.double().square().sum(1)


def get_inputs():
    return [torch.randn(24, 60)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def encode(x_ptr, keep_ptr, code_ptr, half_ptr, sum_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    i = row * N + c
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    tl.store(keep_ptr + i, x > 0.25, mask=m)
    tl.store(code_ptr + i, libdevice.rint(x * 8.0).to(tl.int32), mask=m)
    tl.store(half_ptr + i, tl.exp(x).to(tl.float16), mask=m)
    d = x.to(tl.float64)
    tl.store(sum_ptr + row, tl.sum(d * d, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        keep = torch.empty(x.shape, dtype=torch.bool, device=x.device)
        codes = torch.empty_like(x, dtype=torch.int32)
        half = torch.empty_like(x, dtype=torch.half)
        total = torch.empty(x.shape[0], dtype=torch.float64, device=x.device)
        encode[(x.shape[0],)](x, keep, codes, half, total, x.shape[1], BLOCK=64)
        return keep, codes, half, total
