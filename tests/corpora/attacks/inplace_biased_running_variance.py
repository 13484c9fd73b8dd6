# program wrong | family: in-place | mechanism: running statistics are updated, the variance without Bessel's correction | stage: correct | check: buffers
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bn = nn.BatchNorm1d(features)

    def forward(self, x):
        return self.bn(x)

def get_inputs():
    return [torch.randn(36, 20) * 2 + 1]

def get_init_inputs():
    return [20]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def batch_norm(x, w, b, mean_ptr, var_ptr, y, rows, cols, eps, momentum, ROWS: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, ROWS)
    m = r < rows
    v = tl.load(x + r * cols + c, mask=m, other=0.0)
    mean = tl.sum(v, axis=0) / rows
    d = tl.where(m, v - mean, 0.0)
    square = tl.sum(d * d, axis=0)
    scale = tl.load(w + c) / tl.sqrt(square / rows + eps)
    tl.store(y + r * cols + c, d * scale + tl.load(b + c), mask=m)
    tl.store(mean_ptr + c, (1.0 - momentum) * tl.load(mean_ptr + c) + momentum * mean)
    tl.store(var_ptr + c, (1.0 - momentum) * tl.load(var_ptr + c) + momentum * square / rows)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bn = nn.BatchNorm1d(features)

    def forward(self, x):
        bn, y = self.bn, torch.empty_like(x)
        bn.num_batches_tracked.add_(1)
        batch_norm[(x.shape[1],)](x, bn.weight, bn.bias, bn.running_mean, bn.running_var, y,
                                  *x.shape, bn.eps, bn.momentum, ROWS=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def batch_norm(x, w, b, mean_ptr, var_ptr, y, rows, cols, eps, momentum, ROWS: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, ROWS)
    m = r < rows
    v = tl.load(x + r * cols + c, mask=m, other=0.0)
    mean = tl.sum(v, axis=0) / rows
    d = tl.where(m, v - mean, 0.0)
    square = tl.sum(d * d, axis=0)
    scale = tl.load(w + c) / tl.sqrt(square / rows + eps)
    tl.store(y + r * cols + c, d * scale + tl.load(b + c), mask=m)
    tl.store(mean_ptr + c, (1.0 - momentum) * tl.load(mean_ptr + c) + momentum * mean)
    tl.store(var_ptr + c, (1.0 - momentum) * tl.load(var_ptr + c) + momentum * square / (rows - 1))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bn = nn.BatchNorm1d(features)

    def forward(self, x):
        bn, y = self.bn, torch.empty_like(x)
        bn.num_batches_tracked.add_(1)
        batch_norm[(x.shape[1],)](x, bn.weight, bn.bias, bn.running_mean, bn.running_var, y,
                                  *x.shape, bn.eps, bn.momentum, ROWS=64)
        return y
