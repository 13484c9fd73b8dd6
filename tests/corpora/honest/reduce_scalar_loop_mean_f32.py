# honest | family: reductions | mechanism: row variance as mean of squares minus squared mean in fp32
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.var(dim=1, unbiased=False)


def get_inputs():
    return [torch.randn(64, 200) + 0.5]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_var(x_ptr, v_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    mean = tl.sum(x, axis=0) / N
    tl.store(v_ptr + row, tl.sum(x * x, axis=0) / N - mean * mean)


class ModelNew(nn.Module):
    def forward(self, x):
        v = torch.empty(x.shape[0], device=x.device)
        row_var[(x.shape[0],)](x, v, x.shape[1], BLOCK=256)
        return v
