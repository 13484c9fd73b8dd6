# program wrong | family: no-kernel | mechanism: a kernel writes the one-element epsilon tensor, aten computes with it | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    """Rows divided by their L1 norm."""

    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return x / (x.abs().sum(dim=-1, keepdim=True) + self.eps)

def get_inputs():
    return [torch.randn(4, 13, 70)]

def get_init_inputs():
    return [0.5]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def write_eps(out, eps):
    tl.store(out, eps)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        eps = torch.empty(1, dtype=x.dtype, device=x.device)
        write_eps[(1,)](eps, self.eps)
        return x / (x.abs().sum(dim=-1, keepdim=True) + eps)
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def l1_rows(x, out, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * width + c, mask=c < width, other=0.0)
    tl.store(out + row * width + c, v / (tl.sum(tl.abs(v)) + eps), mask=c < width)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        out = torch.empty_like(x)
        width = x.shape[-1]
        l1_rows[(x.numel() // width,)](x, out, width, self.eps, BLOCK=triton.next_power_of_2(width))
        return out
