# file lies | family: hidden-launch | mechanism: torch.library.custom_op wraps the function that launches
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.exp(-torch.relu(x))

def get_inputs():
    return [torch.randn(29, 33)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decay_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.exp(-tl.maximum(v, 0.0)), mask=i < n)


@torch.library.custom_op("fast::decay", mutates_args=())
def decay(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    decay_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y


@decay.register_fake
def _(x):
    return torch.empty_like(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return decay(x)
