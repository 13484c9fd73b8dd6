# honest | family: reductions | mechanism: weighted means along a scan, by positive weights whose sums no sign but theirs suits
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, w):
        return (x * w).cumsum(-1) / w.cumsum(-1)


def get_inputs():
    return [torch.randn(48, 96), torch.rand(48, 96) + 0.1]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def running_mean(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    w = tl.load(w_ptr + row * n + c, mask=c < n, other=1.0)
    tl.store(y_ptr + row * n + c, tl.cumsum(x * w, axis=0) / tl.cumsum(w, axis=0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x, w):
        y = torch.empty_like(x)
        running_mean[(x.shape[0],)](x, w, y, x.shape[1], BLOCK=128)
        return y
