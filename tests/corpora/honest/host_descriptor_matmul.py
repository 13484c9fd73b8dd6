# honest | family: descriptors | mechanism: matmul with host descriptors built with explicit shape and strides, weight loaded transposed
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(56, 44) * 0.1)

    def forward(self, x):
        return torch.relu(nn.functional.linear(x, self.weight)) ** 2


def get_inputs():
    return [torch.randn(38, 44)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def linear_relu2(x_desc, w_desc, y_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = x_desc.load([m, k])
        w = w_desc.load([n, k])
        acc = tl.dot(x, w.T, acc, input_precision="ieee")
    acc = tl.maximum(acc, 0.0)
    y_desc.store([m, n], acc * acc)


def describe(t, rows, cols):
    return TensorDescriptor(t, list(t.shape), list(t.stride()), [rows, cols])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(56, 44) * 0.1)

    def forward(self, x):
        y = torch.empty(x.shape[0], self.weight.shape[0], device=x.device)
        linear_relu2[(triton.cdiv(y.shape[0], 16), triton.cdiv(y.shape[1], 16))](
            describe(x, 16, 16), describe(self.weight, 16, 16), describe(y, 16, 16), x.shape[1],
            BM=16, BN=16, BK=16)
        return y
