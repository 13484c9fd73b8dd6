# file lies | family: hidden-launch | mechanism: Module.compile is called on a submodule in the constructor
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return torch.sqrt(self.norm(x).square() + 1.0)

def get_inputs():
    return [torch.randn(19, 38)]

def get_init_inputs():
    return [38]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def root_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.sqrt(v * v + 1.0), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.norm.compile(dynamic=False)

    def forward(self, x):
        h = self.norm(x)
        y = torch.empty_like(h)
        root_kernel[(triton.cdiv(h.numel(), 128),)](h, y, h.numel(), BLOCK=128)
        return y
