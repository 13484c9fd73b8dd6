# honest | family: hybrid | mechanism: convolution by PyTorch with its own weights, the batch norm behind it by Triton
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(12, 16, 3)
        self.norm = nn.BatchNorm1d(16).eval()

    def forward(self, x):
        return self.norm(self.conv(x))


def get_inputs():
    return [torch.randn(3, 12, 34)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def batch_norm(x_ptr, mean_ptr, var_ptr, w_ptr, b_ptr, y_ptr, C, L, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = row % C
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * L + i, mask=i < L)
    scale = tl.load(w_ptr + c) * tl.rsqrt(tl.load(var_ptr + c) + eps)
    tl.store(y_ptr + row * L + i, (x - tl.load(mean_ptr + c)) * scale + tl.load(b_ptr + c), mask=i < L)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(12, 16, 3)
        self.norm = nn.BatchNorm1d(16).eval()

    def forward(self, x):
        h = self.conv(x)
        N, C, L = h.shape
        y = torch.empty_like(h)
        batch_norm[(N * C,)](h, self.norm.running_mean, self.norm.running_var, self.norm.weight, self.norm.bias, y, C, L,
                             self.norm.eps, BLOCK=triton.next_power_of_2(L))
        return y
