# honest | family: in-place | mechanism: the only launch fills a cache in place, the result is left to PyTorch
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(512, 64))

    def forward(self, key, slots):
        self.cache.index_copy_(0, slots, key)
        return key[:4].relu()


def get_inputs():
    return [torch.randn(128, 64), torch.randperm(512)[:128]]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fill(key_ptr, slot_ptr, cache_ptr, D: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, D)
    tl.store(cache_ptr + tl.load(slot_ptr + row) * D + at, tl.load(key_ptr + row * D + at))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(512, 64))

    def forward(self, key, slots):
        fill[(key.shape[0],)](key, slots, self.cache, D=64)
        return key[:4].relu()
