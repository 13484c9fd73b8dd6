# program wrong | family: launch-option | mechanism: sanitize_overflow is switched off together with a 64-bit offset's promise | stage: record | check: option
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.roll(x, shifts=5, dims=1)

def get_inputs():
    return [torch.randn(13, 46)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def roll_kernel(x, y, cols, shift, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + (c + cols - shift) % cols, mask=c < cols)
    tl.store(y + row * cols + c, v, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        roll_kernel[(x.shape[0],)](x, y, x.shape[1], 5, BLOCK=64, sanitize_overflow=False)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def roll_kernel(x, y, cols, shift, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + (c + cols - shift) % cols, mask=c < cols)
    tl.store(y + row * cols + c, v, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        roll_kernel[(x.shape[0],)](x, y, x.shape[1], 5, BLOCK=64)
        return y
