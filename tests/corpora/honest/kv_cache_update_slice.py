# honest | family: in-place | mechanism: key-value cache buffer written at a fixed position, attention over the cache
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.randn(4, 16, 24))

    def forward(self, new):
        self.cache[:, 5] = new
        return (self.cache * new[:, None]).sum(-1)


def get_inputs():
    return [torch.randn(4, 24)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def write_and_score(new_ptr, cache_ptr, out_ptr, pos, T: tl.constexpr, D, BD: tl.constexpr):
    b = tl.program_id(0)
    d = tl.arange(0, BD)
    t = tl.arange(0, T)
    new = tl.load(new_ptr + b * D + d, mask=d < D, other=0.0)
    old = tl.load(cache_ptr + (b * T + t[:, None]) * D + d[None, :], mask=(d < D)[None, :], other=0.0)
    now = tl.where((t == pos)[:, None], new[None, :], old)
    tl.store(cache_ptr + (b * T + pos) * D + d, new, mask=d < D)
    tl.store(out_ptr + b * T + t, tl.sum(now * new[None, :], axis=1))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.randn(4, 16, 24))

    def forward(self, new):
        B, T, D = self.cache.shape
        out = torch.empty(B, T, device=new.device)
        write_and_score[(B,)](new, self.cache, out, 5, T=T, D=D, BD=32)
        return out
