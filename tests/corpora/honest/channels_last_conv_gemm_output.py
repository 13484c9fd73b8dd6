# honest | family: shapes | mechanism: reference conv gets a channels-last input, candidate writes a channels-last result
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 16, 1)

    def forward(self, x):
        return torch.relu(self.conv(x))


def get_inputs():
    return [torch.randn(5, 8, 17, 20).to(memory_format=torch.channels_last)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pointwise_nhwc(x_ptr, w_ptr, b_ptr, y_ptr, P, C: tl.constexpr, O: tl.constexpr, BP: tl.constexpr):
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    c = tl.arange(0, C)
    o = tl.arange(0, O)
    x = tl.load(x_ptr + p[:, None] * C + c[None, :], mask=p[:, None] < P, other=0.0)
    w = tl.load(w_ptr + o[None, :] * C + c[:, None])
    y = tl.sum(x[:, :, None] * w[None, :, :], axis=1) + tl.load(b_ptr + o)[None, :]
    tl.store(y_ptr + p[:, None] * O + o[None, :], tl.maximum(y, 0.0), mask=p[:, None] < P)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 16, 1)

    def forward(self, x):
        N, C, H, W = x.shape
        y = torch.empty((N, 16, H, W), device=x.device, memory_format=torch.channels_last)
        pointwise_nhwc[(triton.cdiv(N * H * W, 16),)](x, self.conv.weight, self.conv.bias, y, N * H * W, C=8, O=16, BP=16)
        return y
