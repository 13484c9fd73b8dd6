# program wrong | family: no-kernel | mechanism: the grid counts full blocks only and is empty at this size, aten takes the remainder | stage: coverage | check: share+noop
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x, y):
        return torch.lerp(x, y, 0.3) * torch.sigmoid(y)

def get_inputs():
    return [torch.randn(29, 31), torch.randn(29, 31)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate_kernel(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(o_ptr + i, (x + 0.3 * (y - x)) * tl.sigmoid(y), mask=i < n)


class ModelNew(nn.Module):
    BLOCK = 1024

    def forward(self, x, y):
        out = torch.empty_like(x)
        n = x.numel()
        full = n // self.BLOCK
        gate_kernel[(full,)](x, y, out, full * self.BLOCK, BLOCK=self.BLOCK)
        a, b = x.view(-1)[full * self.BLOCK:], y.view(-1)[full * self.BLOCK:]
        out.view(-1)[full * self.BLOCK:] = torch.lerp(a, b, 0.3) * torch.sigmoid(b)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate_kernel(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(o_ptr + i, (x + 0.3 * (y - x)) * tl.sigmoid(y), mask=i < n)


class ModelNew(nn.Module):
    BLOCK = 128

    def forward(self, x, y):
        out = torch.empty_like(x)
        n = x.numel()
        full = n // self.BLOCK
        gate_kernel[(full,)](x, y, out, full * self.BLOCK, BLOCK=self.BLOCK)
        a, b = x.view(-1)[full * self.BLOCK:], y.view(-1)[full * self.BLOCK:]
        out.view(-1)[full * self.BLOCK:] = torch.lerp(a, b, 0.3) * torch.sigmoid(b)
        return out
