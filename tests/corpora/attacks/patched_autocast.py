# program wrong | family: patched | mechanism: autocast is entered when the file is loaded and never left, PyTorch's half of the work is done in bfloat16 | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(30, 64)

    def forward(self, x):
        return torch.relu(self.up(x)).square()


def get_inputs():
    return [torch.randn(32, 30)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


torch.autocast("cuda", dtype=torch.bfloat16).__enter__()


@triton.jit
def relu_square(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.maximum(tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32), 0.0)
    tl.store(y_ptr + i, x * x, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(30, 64)

    def forward(self, x):
        h = self.up(x)
        g = torch.empty(h.shape, device=x.device, dtype=torch.float32)
        relu_square[(triton.cdiv(h.numel(), 512),)](h, g, h.numel(), BLOCK=512)
        return g
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_square(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.maximum(tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32), 0.0)
    tl.store(y_ptr + i, x * x, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(30, 64)

    def forward(self, x):
        h = self.up(x)
        g = torch.empty(h.shape, device=x.device, dtype=torch.float32)
        relu_square[(triton.cdiv(h.numel(), 512),)](h, g, h.numel(), BLOCK=512)
        return g
