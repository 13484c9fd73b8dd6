# honest | family: hybrid | mechanism: SiLU by Triton, then convolution and batch norm by PyTorch as they are, then residual and ReLU by Triton
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(12, 12, 3, padding=1)
        self.norm = nn.BatchNorm1d(12).eval()

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(nn.functional.silu(x))))


def get_inputs():
    return [torch.randn(3, 12, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * tl.sigmoid(x), mask=i < n)


@triton.jit
def add_relu(x_ptr, z_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i, mask=i < n) + tl.load(z_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.maximum(s, 0.0), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(12, 12, 3, padding=1)
        self.norm = nn.BatchNorm1d(12).eval()

    def forward(self, x):
        h = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 256),)
        silu[grid](x, h, x.numel(), BLOCK=256)
        h = self.norm(self.conv(h))
        y = torch.empty_like(x)
        add_relu[grid](h, x, y, y.numel(), BLOCK=256)
        return y
