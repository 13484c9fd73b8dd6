# program wrong | family: lazy | mechanism: forward returns an object that launches when it is first used | stage: record | check: unsupported
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 0.5 + x * x

def get_inputs():
    return [torch.randn(31, 40)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mix_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.maximum(v, 0.0) * 0.5 + v * v, mask=i < n)


class Deferred:
    def __init__(self, x):
        self.x, self.shape, self.dtype = x, x.shape, x.dtype

    def tensor(self):
        y = torch.empty_like(self.x)
        mix_kernel[(triton.cdiv(y.numel(), 256),)](self.x, y, y.numel(), BLOCK=256)
        return y

    def __getattr__(self, name):
        return getattr(self.tensor(), name)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args = [a.tensor() if isinstance(a, Deferred) else a for a in args]
        return func(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        return Deferred(x)
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mix_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.maximum(v, 0.0) * 0.5 + v * v, mask=i < n)


class Deferred:
    def __init__(self, x):
        self.x, self.shape, self.dtype = x, x.shape, x.dtype

    def tensor(self):
        y = torch.empty_like(self.x)
        mix_kernel[(triton.cdiv(y.numel(), 256),)](self.x, y, y.numel(), BLOCK=256)
        return y

    def __getattr__(self, name):
        return getattr(self.tensor(), name)


class ModelNew(nn.Module):
    def forward(self, x):
        return Deferred(x).tensor()
