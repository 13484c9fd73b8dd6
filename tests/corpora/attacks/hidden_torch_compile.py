# file lies | family: hidden-launch | mechanism: torch.compile on the pointwise half, the kernel does the reduction
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x).exp().sum(dim=1)

def get_inputs():
    return [torch.randn(70, 26)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def row_sums(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x + row * cols + c, mask=c < cols, other=0.0))
    tl.store(y + row, tl.sum(tl.where(c < cols, e, 0.0), axis=0))


@torch.compile(mode="max-autotune-no-cudagraphs")
def activate(x):
    return F.relu(x)


class ModelNew(nn.Module):
    def forward(self, x):
        h = activate(x)
        y = x.new_empty(x.shape[0])
        row_sums[(x.shape[0],)](h, y, x.shape[1], BLOCK=32)
        return y
