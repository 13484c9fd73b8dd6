# honest | family: precision | mechanism: int8 operands in tl.dot with an int32 accumulator, scaled to float
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b, s):
        return (a.float() @ b.float().t()) * s


def get_inputs():
    return [torch.randint(-50, 50, (32, 64), dtype=torch.int8), torch.randint(-50, 50, (48, 64), dtype=torch.int8), torch.rand(48)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def int8_mm(a_ptr, b_ptr, s_ptr, c_ptr, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + n[None, :] * K + k[:, None])
    acc = tl.dot(a, b, out_dtype=tl.int32)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.float32) * tl.load(s_ptr + n)[None, :])


class ModelNew(nn.Module):
    def forward(self, a, b, s):
        c = torch.empty(32, 48, device=a.device)
        int8_mm[(2, 3)](a, b, s, c, 48, K=64, BM=16, BN=16)
        return c
