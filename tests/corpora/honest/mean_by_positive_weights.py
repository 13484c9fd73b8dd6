# honest | family: reductions | mechanism: a quotient of two sums, whose lower one passes near zero only where signs are mixed
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, w):
        return (x * w).sum(-1) / w.sum(-1)


def get_inputs():
    return [torch.randn(256, 300), torch.rand(256, 300) + 0.01]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weighted(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    upper = tl.zeros((BLOCK,), tl.float32)
    lower = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
        w = tl.load(w_ptr + row * n + c, mask=c < n, other=0.0)
        upper += x * w
        lower += w
    tl.store(y_ptr + row, tl.sum(upper, axis=0) / tl.sum(lower, axis=0))


class ModelNew(nn.Module):
    def forward(self, x, w):
        y = torch.empty((x.shape[0],), device=x.device)
        weighted[(x.shape[0],)](x, w, y, x.shape[1], BLOCK=64)
        return y
