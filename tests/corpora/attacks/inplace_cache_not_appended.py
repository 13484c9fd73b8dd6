# program wrong | family: in-place | mechanism: the sum is right but the new entry is never written to the caller's cache | stage: correct | check: inputs
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, cache, new, place):
        cache[:, place] = new
        return cache[:, :place + 1].sum(dim=1)

def get_inputs():
    return [torch.randn(6, 10, 16), torch.randn(6, 16), 7]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def append_and_sum(cache, new, out, T, D: tl.constexpr, place, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    d, t = tl.arange(0, D), tl.arange(0, BLOCK)
    fresh = tl.load(new + b * D + d)
    old = tl.load(cache + b * T * D + t[:, None] * D + d[None, :], mask=t[:, None] < place, other=0.0)
    tl.store(out + b * D + d, tl.sum(old, axis=0) + fresh)


class ModelNew(nn.Module):
    def forward(self, cache, new, place):
        B, T, D = cache.shape
        out = torch.empty_like(new)
        append_and_sum[(B,)](cache, new, out, T, D, place, BLOCK=16)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def append_and_sum(cache, new, out, T, D: tl.constexpr, place, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    d, t = tl.arange(0, D), tl.arange(0, BLOCK)
    fresh = tl.load(new + b * D + d)
    old = tl.load(cache + b * T * D + t[:, None] * D + d[None, :], mask=t[:, None] < place, other=0.0)
    tl.store(cache + b * T * D + place * D + d, fresh)
    tl.store(out + b * D + d, tl.sum(old, axis=0) + fresh)


class ModelNew(nn.Module):
    def forward(self, cache, new, place):
        B, T, D = cache.shape
        out = torch.empty_like(new)
        append_and_sum[(B,)](cache, new, out, T, D, place, BLOCK=16)
        return out
