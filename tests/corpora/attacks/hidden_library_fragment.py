# file lies | family: hidden-launch | mechanism: an operator of its own namespace, defined and implemented through torch.library.Library
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.atan(x) * 2.0

def get_inputs():
    return [torch.randn(24, 34)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def twice_atan(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, libdevice.atan(v) * 2.0, mask=i < n)


def angles(x):
    y = torch.empty_like(x)
    twice_atan[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y


library = torch.library.Library("angles", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", angles, "CompositeImplicitAutograd")


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ops.angles.twice(x)
