# honest | family: descriptors | mechanism: host TensorDescriptor.from_tensor, two-dimensional load and store
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.maximum(x, y) - 0.5 * torch.minimum(x, y)


def get_inputs():
    return [torch.randn(50, 72), torch.randn(50, 72)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def minmax(x_desc, y_desc, o_desc, BM: tl.constexpr, BN: tl.constexpr):
    om = tl.program_id(0) * BM
    on = tl.program_id(1) * BN
    x = x_desc.load([om, on])
    y = y_desc.load([om, on])
    o_desc.store([om, on], tl.maximum(x, y) - 0.5 * tl.minimum(x, y))


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        block = [16, 32]
        descs = [TensorDescriptor.from_tensor(t, block) for t in (x, y, out)]
        grid = (triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 32))
        minmax[grid](*descs, BM=16, BN=32)
        return out
