# honest | family: in-place | mechanism: a fresh matmul result is overwritten in place by the epilogue kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 60)

    def forward(self, x):
        return nn.functional.gelu(self.fc(x))


def get_inputs():
    return [torch.randn(40, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_gelu_(y_ptr, b_ptr, n, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(y_ptr + i, mask=m) + tl.load(b_ptr + i % N, mask=m)
    v = 0.5 * v * (1.0 + tl.math.erf(v * 0.7071067811865476))
    tl.store(y_ptr + i, v, mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 60)

    def forward(self, x):
        y = torch.mm(x, self.fc.weight.t())
        bias_gelu_[(triton.cdiv(y.numel(), 256),)](y, self.fc.bias, y.numel(), y.shape[1], BLOCK=256)
        return y
