# honest | family: descriptors | mechanism: tl.make_tensor_descriptor on the device, triton.set_allocator for its workspace
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x * 0.5, dim=1)


def get_inputs():
    return [torch.randn(45, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


def alloc_fn(size: int, alignment: int, stream):
    return torch.empty(size, device="cuda", dtype=torch.int8)


@triton.jit
def softmax_tiles(x_ptr, y_ptr, M, N: tl.constexpr, BM: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, N])
    y_desc = tl.make_tensor_descriptor(y_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, N])
    row = tl.program_id(0) * BM
    x = x_desc.load([row, 0]) * 0.5
    x = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    y_desc.store([row, 0], x / tl.sum(x, axis=1, keep_dims=True))


class ModelNew(nn.Module):
    def forward(self, x):
        triton.set_allocator(alloc_fn)
        y = torch.empty_like(x)
        M, N = x.shape
        softmax_tiles[(triton.cdiv(M, 8),)](x, y, M, N=N, BM=8)
        return y
