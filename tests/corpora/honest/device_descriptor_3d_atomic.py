# honest | family: descriptors | mechanism: three-dimensional device descriptor, store through the descriptor's atomic_add
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return (x * x).sum(dim=0)


def get_inputs():
    return [torch.randn(6, 20, 32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_batches(x_ptr, y_ptr, B, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, [B, M, N], [M * N, N, 1], [1, BM, BN])
    y_desc = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [BM, BN])
    b = tl.program_id(0)
    m = tl.program_id(1) * BM
    x = x_desc.load([b, m, 0]).reshape([BM, BN])
    y_desc.atomic_add([m, 0], x * x)


class ModelNew(nn.Module):
    def forward(self, x):
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
        B, M, N = x.shape
        y = torch.zeros(M, N, device=x.device)
        sum_batches[(B, triton.cdiv(M, 8))](x, y, B, M, N, BM=8, BN=N)
        return y
