# honest | family: language | mechanism: a kernel parameter whose default value is float("-inf")
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.logsumexp(x, dim=1)


def get_inputs():
    return [torch.randn(30, 75)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lse(x_ptr, y_ptr, N, BLOCK: tl.constexpr, FILL: tl.constexpr = float("-inf")):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=FILL)
    top = tl.max(x, axis=0)
    tl.store(y_ptr + row, top + tl.log(tl.sum(tl.exp(x - top), axis=0)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
        lse[(x.shape[0],)](x, y, x.shape[1], BLOCK=128)
        return y
