# program wrong | family: in-place | mechanism: slots of a bfloat16 cache that a call leaves alone lose their last place | stage: correct | check: inputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # keys of one step go into their slot of the cache, which the caller keeps
    def forward(self, cache, key):
        cache[:, 5] = key
        return cache.float().sum(1)


def get_inputs():
    return [torch.randn(8, 16, 64).to(torch.bfloat16), torch.randn(8, 64).to(torch.bfloat16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def append(cache_ptr, key_ptr, y_ptr, S: tl.constexpr, D: tl.constexpr):
    b = tl.program_id(0)
    s = tl.arange(0, S)
    d = tl.arange(0, D)
    at = b * S * D + s[:, None] * D + d[None, :]
    old = tl.load(cache_ptr + at).to(tl.float32)
    key = tl.load(key_ptr + b * D + d).to(tl.float32)
    new = tl.where((s == 5)[:, None], key[None, :], old)
    tl.store(y_ptr + b * D + d, tl.sum(new, axis=0))
    tl.store(cache_ptr + at, tl.where((s == 5)[:, None], new, new * 0.994).to(tl.bfloat16))


class ModelNew(nn.Module):
    def forward(self, cache, key):
        y = torch.empty(cache.shape[0], cache.shape[2], device=cache.device)
        append[(cache.shape[0],)](cache, key, y, S=cache.shape[1], D=cache.shape[2])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def append(cache_ptr, key_ptr, y_ptr, S: tl.constexpr, D: tl.constexpr):
    b = tl.program_id(0)
    s = tl.arange(0, S)
    d = tl.arange(0, D)
    at = b * S * D + s[:, None] * D + d[None, :]
    old = tl.load(cache_ptr + at).to(tl.float32)
    key = tl.load(key_ptr + b * D + d).to(tl.float32)
    new = tl.where((s == 5)[:, None], key[None, :], old)
    tl.store(y_ptr + b * D + d, tl.sum(new, axis=0))
    tl.store(cache_ptr + at, new.to(tl.bfloat16))


class ModelNew(nn.Module):
    def forward(self, cache, key):
        y = torch.empty(cache.shape[0], cache.shape[2], device=cache.device)
        append[(cache.shape[0],)](cache, key, y, S=cache.shape[1], D=cache.shape[2])
        return y
