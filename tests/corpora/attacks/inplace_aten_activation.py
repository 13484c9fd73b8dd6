# program wrong | family: in-place | mechanism: an in-place PyTorch activation on the input before the kernel | stage: correct | check: inputs
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x, gate):
        return torch.relu(x).sqrt() * torch.exp(-gate.square())

def get_inputs():
    return [torch.randn(21, 47), torch.randn(21, 47)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated_root(x, g, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(g + i, mask=i < n)
    tl.store(y + i, tl.sqrt(tl.load(x + i, mask=i < n)) * tl.exp(-gate * gate), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, gate):
        x = torch.relu_(x)
        y = torch.empty_like(gate)
        gated_root[(triton.cdiv(y.numel(), 256),)](x, gate, y, y.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated_root(x, g, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(g + i, mask=i < n)
    tl.store(y + i, tl.sqrt(tl.load(x + i, mask=i < n)) * tl.exp(-gate * gate), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, gate):
        x = torch.relu(x)
        y = torch.empty_like(gate)
        gated_root[(triton.cdiv(y.numel(), 256),)](x, gate, y, y.numel(), BLOCK=256)
        return y
