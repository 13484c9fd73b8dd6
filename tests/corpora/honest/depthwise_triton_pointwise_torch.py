# honest | family: hybrid | mechanism: depthwise convolution by a direct kernel, pointwise convolution by torch.nn.functional
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.dw = nn.Conv1d(10, 10, 5, padding=2, groups=10)
        self.pw = nn.Conv1d(10, 14, 1)

    def forward(self, x):
        return self.pw(torch.relu(self.dw(x)))


def get_inputs():
    return [torch.randn(3, 10, 51)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


import torch.nn.functional as F


@triton.jit
def depthwise_relu(x_ptr, w_ptr, b_ptr, y_ptr, L, C, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    nc = tl.program_id(0)
    c = nc % C
    t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.full((BLOCK,), 0.0, tl.float32) + tl.load(b_ptr + c)
    for k in tl.static_range(TAPS):
        s = t + k - TAPS // 2
        acc += tl.load(w_ptr + c * TAPS + k) * tl.load(x_ptr + nc * L + s, mask=(s >= 0) & (s < L), other=0.0)
    tl.store(y_ptr + nc * L + t, tl.maximum(acc, 0.0), mask=t < L)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.dw = nn.Conv1d(10, 10, 5, padding=2, groups=10)
        self.pw = nn.Conv1d(10, 14, 1)

    def forward(self, x):
        N, C, L = x.shape
        h = torch.empty_like(x)
        depthwise_relu[(N * C, triton.cdiv(L, 32))](x, self.dw.weight, self.dw.bias, h, L, C, TAPS=5, BLOCK=32)
        return F.conv1d(h, self.pw.weight, self.pw.bias)
