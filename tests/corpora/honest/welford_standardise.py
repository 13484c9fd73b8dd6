# honest | family: reductions | mechanism: standardised rows by Welford, partial results merged by tl.reduce over (mean, m2, weight)
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        var, mean = torch.var_mean(x, dim=1, correction=1, keepdim=True)
        return (x - mean) / torch.sqrt(var + 1e-4)


def get_inputs():
    return [torch.randn(37, 150)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def merge(mean_1, m2_1, w_1, mean_2, m2_2, w_2):
    delta = mean_2 - mean_1
    w = w_1 + w_2
    share = tl.where(w == 0.0, 0.0, w_2 / w)
    return mean_1 + delta * share, m2_1 + m2_2 + delta * delta * w_1 * share, w


@triton.jit
def welford(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = tl.zeros((BLOCK,), tl.float32)
    m2 = tl.zeros((BLOCK,), tl.float32)
    w = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
        w_new = tl.where(c < N, w + 1, w)
        delta = x - mean
        mean = tl.where(c < N, mean + delta / tl.maximum(w_new, 1.0), mean)
        m2 = tl.where(c < N, m2 + delta * (x - mean), m2)
        w = w_new
    mean_all, m2_all, w_all = tl.reduce((mean, m2, w), 0, merge)
    rstd = 1.0 / tl.sqrt(m2_all / (w_all - 1) + 1e-4)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
        tl.store(y_ptr + row * N + c, (x - mean_all) * rstd, mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        welford[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
        return y
