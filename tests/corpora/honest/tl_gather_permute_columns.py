# honest | family: language | mechanism: tl.gather on a register tile by an index row
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, perm):
        return torch.gather(torch.sigmoid(x), 1, perm)


def get_inputs():
    return [torch.randn(21, 32), torch.stack([torch.randperm(32) for _ in range(21)])]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def permute_row(x_ptr, p_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.sigmoid(tl.load(x_ptr + row * N + c))
    p = tl.load(p_ptr + row * N + c).to(tl.int32)
    tl.store(y_ptr + row * N + c, tl.gather(x, p, axis=0))


class ModelNew(nn.Module):
    def forward(self, x, perm):
        y = torch.empty_like(x)
        permute_row[(x.shape[0],)](x, perm, y, N=x.shape[1])
        return y
