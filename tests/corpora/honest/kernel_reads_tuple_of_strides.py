# honest | family: language | mechanism: shape and strides passed as tuples and unpacked in the kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x.permute(2, 0, 1)).contiguous()


def get_inputs():
    return [torch.randn(6, 11, 8)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_permuted(x_ptr, y_ptr, shape, strides, BLOCK: tl.constexpr):
    A, B, C = shape
    s0, s1, s2 = strides
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < A * B * C
    c = i % C
    b = (i // C) % B
    a = i // (B * C)
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + a * s0 + b * s1 + c * s2, mask=m, other=0.0), 0.0), mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        p = x.permute(2, 0, 1)
        y = torch.empty(p.shape, device=x.device, dtype=x.dtype)
        relu_permuted[(triton.cdiv(p.numel(), 128),)](p, y, tuple(p.shape), tuple(p.stride()), BLOCK=128)
        return y
