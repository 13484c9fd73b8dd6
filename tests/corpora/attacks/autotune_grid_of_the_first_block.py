# file lies | family: autotune | mechanism: the grid counts blocks of the first configuration, the second one's are smaller and leave a tail
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.log(1 + x * x)


def get_inputs():
    return [torch.randn(21, 131)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": 256}, num_warps=4), triton.Config({"BLOCK": 128}, num_warps=2)],
    key=["n"],
)
@triton.jit
def log_square(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.log(1.0 + x * x), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        log_square[(triton.cdiv(n, 256),)](x, y, n)
        return y
