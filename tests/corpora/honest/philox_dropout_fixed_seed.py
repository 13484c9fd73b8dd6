# honest | family: language | mechanism: tl.rand with a fixed seed, the reference computes the same Philox rounds on int64 tensors
# %% reference
import torch
import torch.nn as nn


def mul_hi_lo(a, b):
    high = b * (a >> 16)
    low = b * (a & 0xFFFF)
    t = high + (low >> 16)
    return t >> 16, ((t & 0xFFFF) << 16) | (low & 0xFFFF)


def philox(counter, seed):
    c0, c1 = counter, torch.zeros_like(counter)
    c2, c3 = torch.zeros_like(counter), torch.zeros_like(counter)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        hi_b, lo_b = mul_hi_lo(c2, 0xCD9E8D57)
        hi_a, lo_a = mul_hi_lo(c0, 0xD2511F53)
        c0, c2 = hi_b ^ c1 ^ k0, hi_a ^ c3 ^ k1
        c1, c3 = lo_b, lo_a
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0


class Model(nn.Module):
    def __init__(self, p, seed):
        super().__init__()
        self.p, self.seed = p, seed

    def forward(self, x):
        bits = philox(torch.arange(x.numel(), device=x.device).view_as(x), self.seed)
        signed = torch.where(bits >= 2 ** 31, bits - 2 ** 32, bits)
        magnitude = torch.where(signed < 0, -signed - 1, signed)
        keep = magnitude >= int(self.p / 4.6566127342e-10)
        return torch.where(keep, torch.tanh(x) / (1 - self.p), 0.0)


def get_inputs():
    return [torch.randn(23, 55)]


def get_init_inputs():
    return [0.25, 1234]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def tanh_dropout(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    keep = tl.rand(seed, i) > p
    tl.store(y_ptr + i, tl.where(keep, libdevice.tanh(x) / (1 - p), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, p, seed):
        super().__init__()
        self.p, self.seed = p, seed

    def forward(self, x):
        y = torch.empty_like(x)
        tanh_dropout[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), self.p, self.seed, BLOCK=256)
        return y
