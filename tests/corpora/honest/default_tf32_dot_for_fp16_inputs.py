# honest | family: precision | mechanism: fp16 inputs upcast to fp32 before tl.dot with the default precision
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(32, 64).half(), torch.randn(64, 32).half()]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mm(a_ptr, b_ptr, c_ptr, N, K: tl.constexpr, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :]).to(tl.float32)
    b = tl.load(b_ptr + k[:, None] * N + n[None, :]).to(tl.float32)
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot(a, b).to(tl.float16))


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty(32, 32, device=a.device, dtype=a.dtype)
        mm[(2, 2)](a, b, c, 32, K=64, B=16)
        return c
