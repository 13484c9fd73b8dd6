# honest | family: precision | mechanism: int64 tensors with shifts, xor and remainder, bool result from a comparison
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        c = (a ^ (b << 2)) & 1023
        return c, torch.remainder(a, 7), c > b


def get_inputs():
    return [torch.randint(0, 10000, (500,)), torch.randint(0, 1000, (500,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bits(a_ptr, b_ptr, c_ptr, r_ptr, g_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(a_ptr + i, mask=m, other=0)
    b = tl.load(b_ptr + i, mask=m, other=0)
    c = (a ^ (b << 2)) & 1023
    tl.store(c_ptr + i, c, mask=m)
    r = a % 7
    tl.store(r_ptr + i, tl.where(r < 0, r + 7, r), mask=m)
    tl.store(g_ptr + i, c > b, mask=m)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c, r = torch.empty_like(a), torch.empty_like(a)
        g = torch.empty_like(a, dtype=torch.bool)
        bits[(triton.cdiv(a.numel(), 128),)](a, b, c, r, g, a.numel(), BLOCK=128)
        return c, r, g
