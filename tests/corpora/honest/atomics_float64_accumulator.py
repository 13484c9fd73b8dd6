# honest | family: atomics | mechanism: float64 accumulators for a mean and a variance, converted by a small second kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.mean(), x.var(unbiased=False)


def get_inputs():
    return [torch.randn(47, 61)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def accumulate(x_ptr, acc_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float64)
    tl.atomic_add(acc_ptr, tl.sum(x, axis=0))
    tl.atomic_add(acc_ptr + 1, tl.sum(x * x, axis=0))


@triton.jit
def finish(acc_ptr, mean_ptr, var_ptr, n):
    mean = tl.load(acc_ptr) / n
    var = tl.load(acc_ptr + 1) / n - mean * mean
    tl.store(mean_ptr, mean.to(tl.float32))
    tl.store(var_ptr, var.to(tl.float32))


class ModelNew(nn.Module):
    def forward(self, x):
        acc = torch.zeros(2, dtype=torch.float64, device=x.device)
        mean, var = x.new_empty(()), x.new_empty(())
        accumulate[(triton.cdiv(x.numel(), 512),)](x, acc, x.numel(), BLOCK=512)
        finish[(1,)](acc, mean, var, x.numel())
        return mean, var
