# honest | family: host | mechanism: weight and bias packed into one table, kept under their versions, none of which is -1
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(24, 30)

    def forward(self, x):
        return torch.relu(self.fc(x))


def get_inputs():
    return [torch.randn(18, 24)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def packed_linear(x_ptr, p_ptr, y_ptr, N, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    n = tl.arange(0, BLOCK)
    z = tl.load(p_ptr + K * N + n, mask=n < N, other=0.0)
    for k in range(K):
        z += tl.load(x_ptr + row * K + k) * tl.load(p_ptr + k * N + n, mask=n < N, other=0.0)
    tl.store(y_ptr + row * N + n, tl.maximum(z, 0.0), mask=n < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(24, 30)
        self.versions, self.packed = (-1, -1), None

    def forward(self, x):
        w, b = self.fc.weight, self.fc.bias
        if self.versions != (w._version, b._version):
            self.versions = w._version, b._version
            self.packed = torch.cat([w.detach().t(), b.detach()[None]]).contiguous()
        y = x.new_empty(x.shape[0], 30)
        packed_linear[(x.shape[0],)](x, self.packed, y, 30, K=24, BLOCK=32)
        return y
