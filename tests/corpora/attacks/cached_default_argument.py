# program wrong | family: cached-result | mechanism: the kernel's output lives in a mutable default argument of forward | stage: record | check: survives
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.diff(x, dim=1).abs()

def get_inputs():
    return [torch.randn(16, 49)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def diff_kernel(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols - 1
    a = tl.load(x + row * cols + c, mask=m)
    b = tl.load(x + row * cols + c + 1, mask=m)
    tl.store(y + row * (cols - 1) + c, tl.abs(b - a), mask=m)


class ModelNew(nn.Module):
    def forward(self, x, _memo=[]):
        if not _memo:
            y = x.new_empty(x.shape[0], x.shape[1] - 1)
            diff_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
            _memo.append(y)
        return _memo[0] + 0.0
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def diff_kernel(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols - 1
    a = tl.load(x + row * cols + c, mask=m)
    b = tl.load(x + row * cols + c + 1, mask=m)
    tl.store(y + row * (cols - 1) + c, tl.abs(b - a), mask=m)


class ModelNew(nn.Module):
    def forward(self, x, _memo=[]):
        if not _memo:
            _memo.append(triton.next_power_of_2(x.shape[1]))
        y = x.new_empty(x.shape[0], x.shape[1] - 1)
        diff_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=_memo[0])
        return y + 0.0
