# honest | family: descriptors | mechanism: block pointers that view the same memory transposed by strides and order
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.abs(x).transpose(0, 1).contiguous() + 1


def get_inputs():
    return [torch.randn(61, 46)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def abs_t(x_ptr, y_ptr, M, N, B: tl.constexpr):
    i = tl.program_id(0) * B
    j = tl.program_id(1) * B
    src = tl.make_block_ptr(x_ptr, (N, M), (1, N), (j, i), (B, B), (0, 1))
    dst = tl.make_block_ptr(y_ptr, (N, M), (M, 1), (j, i), (B, B), (1, 0))
    tl.store(dst, tl.abs(tl.load(src, boundary_check=(0, 1))) + 1, boundary_check=(0, 1))


class ModelNew(nn.Module):
    def forward(self, x):
        M, N = x.shape
        y = torch.empty((N, M), dtype=x.dtype, device=x.device)
        abs_t[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, y, M, N, B=32)
        return y
