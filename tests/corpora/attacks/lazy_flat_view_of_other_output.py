# program wrong | family: lazy | mechanism: the flattened second result is a view of the first | stage: correct | check: interface
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        y = torch.nn.functional.relu6(x * 3.0)
        return {"map": y, "features": y.flatten(1).clone()}

def get_inputs():
    return [torch.randn(6, 4, 17)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu6_twice(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.minimum(tl.maximum(tl.load(x + i, mask=i < n) * 3.0, 0.0), 6.0)
    tl.store(y + i, v, mask=i < n)
    tl.store(z + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y, z = torch.empty_like(x), torch.empty_like(x)
        relu6_twice[(triton.cdiv(x.numel(), 64),)](x, y, z, x.numel(), BLOCK=64)
        return {"map": y, "features": y.flatten(1)}
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu6_twice(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.minimum(tl.maximum(tl.load(x + i, mask=i < n) * 3.0, 0.0), 6.0)
    tl.store(y + i, v, mask=i < n)
    tl.store(z + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y, z = torch.empty_like(x), torch.empty_like(x)
        relu6_twice[(triton.cdiv(x.numel(), 64),)](x, y, z, x.numel(), BLOCK=64)
        return {"map": y, "features": z.flatten(1)}
