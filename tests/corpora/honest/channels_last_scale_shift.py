# honest | family: shapes | mechanism: channels-last input and output, kernel walks the dense memory with the channel innermost
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(10) + 0.5)

    def forward(self, x):
        return torch.relu(x * self.scale.view(1, -1, 1, 1))


def get_inputs():
    return [torch.randn(2, 10, 7, 5).to(memory_format=torch.channels_last)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_relu_nhwc(x_ptr, s_ptr, y_ptr, n, C, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x_ptr + i, mask=m) * tl.load(s_ptr + i % C, mask=m)
    tl.store(y_ptr + i, tl.maximum(v, 0.0), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(10) + 0.5)

    def forward(self, x):
        assert x.is_contiguous(memory_format=torch.channels_last)
        y = torch.empty_like(x)
        scale_relu_nhwc[(triton.cdiv(x.numel(), 256),)](x, self.scale, y, x.numel(), x.shape[1], BLOCK=256)
        return y
