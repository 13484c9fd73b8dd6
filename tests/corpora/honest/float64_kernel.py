# honest | family: precision | mechanism: double precision inputs and arithmetic
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.log(x * x + 2.0) - x.mean(-1, keepdim=True)


def get_inputs():
    return [torch.randn(22, 60, dtype=torch.float64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def log_centre(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    y = tl.log(x * x + 2.0) - tl.sum(x, axis=0) / N
    tl.store(y_ptr + row * N + c, y, mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        log_centre[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
        return y
