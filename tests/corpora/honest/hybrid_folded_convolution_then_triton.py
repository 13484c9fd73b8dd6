# honest | family: hybrid | mechanism: a batch norm folded into the convolution that PyTorch computes, residual and ReLU by Triton
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(12, 16, 3)
        self.norm = nn.BatchNorm1d(16).eval()

    def forward(self, x, z):
        return torch.relu(self.norm(self.conv(x)) + z)


def get_inputs():
    return [torch.randn(3, 12, 34), torch.randn(3, 16, 32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_relu(x_ptr, z_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i, mask=i < n) + tl.load(z_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.maximum(s, 0.0), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(12, 16, 3)
        self.norm = nn.BatchNorm1d(16).eval()
        self.w = self.b = None

    def forward(self, x, z):
        if self.w is None:
            scale = self.norm.weight * torch.rsqrt(self.norm.running_var + self.norm.eps)
            self.w = self.conv.weight * scale[:, None, None]
            self.b = (self.conv.bias - self.norm.running_mean) * scale + self.norm.bias
        h = torch.conv1d(x, self.w, self.b)
        y = torch.empty_like(h)
        add_relu[(triton.cdiv(y.numel(), 256),)](h, z, y, y.numel(), BLOCK=256)
        return y
