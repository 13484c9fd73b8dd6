# file lies | family: cached-result | mechanism: the output is one buffer made in the constructor that every call returns anew
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, rows, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return torch.exp2(x + self.bias)

def get_inputs():
    return [torch.randn(14, 30)]

def get_init_inputs():
    return [14, 30]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp2_kernel(x, b, y, cols, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) + tl.load(b + i % cols, mask=i < n)
    tl.store(y + i, tl.exp2(v), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, rows, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))
        self.out = torch.zeros(rows, cols, device="cuda")

    def forward(self, x):
        exp2_kernel[(triton.cdiv(x.numel(), 128),)](x, self.bias, self.out, x.shape[1], x.numel(), BLOCK=128)
        return self.out
