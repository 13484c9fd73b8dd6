# program wrong | family: in-place | mechanism: what is written to the caller's cache is a product of operands in bf16 | stage: correct | check: inputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(128, 128, bias=False)

    def forward(self, x, cache):
        cache.copy_(self.mix(x))
        return x * 2


def get_inputs():
    return [torch.randn(64, 128), torch.zeros(64, 128)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mix_into(x_ptr, w_ptr, cache_ptr, y_ptr, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    a = tl.load(x_ptr + m[:, None] * K + k[None, :])
    b = tl.load(w_ptr + n[None, :] * K + k[:, None])
    tl.store(cache_ptr + m[:, None] * K + n[None, :], tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16)))
    own = m[:, None] * K + n[None, :]
    tl.store(y_ptr + own, tl.load(x_ptr + own) * 2)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(128, 128, bias=False)

    def forward(self, x, cache):
        y = torch.empty_like(x)
        mix_into[(x.shape[0] // 32, x.shape[1] // 32)](x, self.mix.weight, cache, y, K=128, BM=32, BN=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mix_into(x_ptr, w_ptr, cache_ptr, y_ptr, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    a = tl.load(x_ptr + m[:, None] * K + k[None, :])
    b = tl.load(w_ptr + n[None, :] * K + k[:, None])
    tl.store(cache_ptr + m[:, None] * K + n[None, :], tl.dot(a, b, input_precision="ieee"))
    own = m[:, None] * K + n[None, :]
    tl.store(y_ptr + own, tl.load(x_ptr + own) * 2)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(128, 128, bias=False)

    def forward(self, x, cache):
        y = torch.empty_like(x)
        mix_into[(x.shape[0] // 32, x.shape[1] // 32)](x, self.mix.weight, cache, y, K=128, BM=32, BN=32)
        return y
