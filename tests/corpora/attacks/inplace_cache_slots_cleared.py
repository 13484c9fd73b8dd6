# program wrong | family: in-place | mechanism: besides its own slot the kernel clears the later slots of the caller's cache | stage: correct | check: inputs
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, cache, new, place):
        cache[:, place] = new
        return cache[:, :place + 1].amax(dim=1)

def get_inputs():
    return [torch.randn(5, 12, 8), torch.randn(5, 8), 4]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def append_and_max(cache, new, out, T, D: tl.constexpr, place, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    d, t = tl.arange(0, D), tl.arange(0, BLOCK)
    fresh = tl.load(new + b * D + d)
    old = tl.load(cache + b * T * D + t[:, None] * D + d[None, :], mask=t[:, None] < place, other=-float("inf"))
    tl.store(cache + b * T * D + place * D + d, fresh)
    later = (t[:, None] > place) & (t[:, None] < T) & (d[None, :] >= 0)
    tl.store(cache + b * T * D + t[:, None] * D + d[None, :], tl.zeros((BLOCK, D), tl.float32), mask=later)
    tl.store(out + b * D + d, tl.maximum(tl.max(old, axis=0), fresh))


class ModelNew(nn.Module):
    def forward(self, cache, new, place):
        B, T, D = cache.shape
        out = torch.empty_like(new)
        append_and_max[(B,)](cache, new, out, T, D, place, BLOCK=16)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def append_and_max(cache, new, out, T, D: tl.constexpr, place, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    d, t = tl.arange(0, D), tl.arange(0, BLOCK)
    fresh = tl.load(new + b * D + d)
    old = tl.load(cache + b * T * D + t[:, None] * D + d[None, :], mask=t[:, None] < place, other=-float("inf"))
    tl.store(cache + b * T * D + place * D + d, fresh)
    tl.store(out + b * D + d, tl.maximum(tl.max(old, axis=0), fresh))


class ModelNew(nn.Module):
    def forward(self, cache, new, place):
        B, T, D = cache.shape
        out = torch.empty_like(new)
        append_and_max[(B,)](cache, new, out, T, D, place, BLOCK=16)
        return out
