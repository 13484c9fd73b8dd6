# honest | family: in-place | mechanism: BatchNorm in training mode, kernel updates running_mean and running_var in place as the reference does
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(37)

    def forward(self, x):
        return torch.relu(self.bn(x))


def get_inputs():
    return [torch.randn(48, 37)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bn_train(x_ptr, y_ptr, w_ptr, b_ptr, rm_ptr, rv_ptr, M, C, eps, momentum, BM: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, BM)
    m = r < M
    x = tl.load(x_ptr + r * C + c, mask=m, other=0.0)
    mean = tl.sum(x) / M
    d = tl.where(m, x - mean, 0.0)
    var = tl.sum(d * d) / M
    y = d / tl.sqrt(var + eps) * tl.load(w_ptr + c) + tl.load(b_ptr + c)
    tl.store(y_ptr + r * C + c, tl.maximum(y, 0.0), mask=m)
    unbiased = var * M / (M - 1)
    tl.store(rm_ptr + c, (1 - momentum) * tl.load(rm_ptr + c) + momentum * mean)
    tl.store(rv_ptr + c, (1 - momentum) * tl.load(rv_ptr + c) + momentum * unbiased)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(37)

    def forward(self, x):
        bn = self.bn
        y = torch.empty_like(x)
        M, C = x.shape
        bn_train[(C,)](x, y, bn.weight, bn.bias, bn.running_mean, bn.running_var, M, C, bn.eps,
                       bn.momentum, BM=triton.next_power_of_2(M))
        bn.num_batches_tracked += 1
        return y
