# honest | family: host | mechanism: packed weight cached with the parameter's version counter, rebuilt when it changes
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(32, 26, bias=False)

    def forward(self, x):
        return torch.abs(self.fc(x))


def get_inputs():
    return [torch.randn(20, 32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def xw_abs(x_ptr, wt_ptr, y_ptr, N, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(K):
        acc += tl.load(x_ptr + row * K + k) * tl.load(wt_ptr + k * N + c, mask=c < N, other=0.0)
    tl.store(y_ptr + row * N + c, tl.abs(acc), mask=c < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(32, 26, bias=False)
        self._version_packed, self._wt = -1, None

    def forward(self, x):
        w = self.fc.weight
        if self._wt is None or self._version_packed != w._version:
            self._wt = w.data.t().contiguous()
            self._version_packed = w._version
        y = x.new_empty(x.shape[0], 26)
        xw_abs[(x.shape[0],)](x, self._wt, y, 26, K=32, BLOCK=32)
        return y
