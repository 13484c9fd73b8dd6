# program wrong | family: lazy | mechanism: a result of another dtype is the input's memory seen through view(dtype) | stage: correct | check: interface
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x.view(torch.int16).clone(), torch.sqrt(x.float())

def get_inputs():
    return [torch.randint(0, 1 << 20, (15, 33), dtype=torch.int32)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def split_kernel(x, bits, roots, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(bits + 2 * i, v.to(tl.int16), mask=i < n)
    tl.store(bits + 2 * i + 1, (v >> 16).to(tl.int16), mask=i < n)
    tl.store(roots + i, tl.sqrt(v.to(tl.float32)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        bits = torch.empty(x.shape[0], 2 * x.shape[1], dtype=torch.int16, device=x.device)
        roots = torch.empty_like(x, dtype=torch.float32)
        split_kernel[(triton.cdiv(x.numel(), 128),)](x, bits, roots, x.numel(), BLOCK=128)
        return x.view(torch.int16), roots
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def split_kernel(x, bits, roots, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(bits + 2 * i, v.to(tl.int16), mask=i < n)
    tl.store(bits + 2 * i + 1, (v >> 16).to(tl.int16), mask=i < n)
    tl.store(roots + i, tl.sqrt(v.to(tl.float32)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        bits = torch.empty(x.shape[0], 2 * x.shape[1], dtype=torch.int16, device=x.device)
        roots = torch.empty_like(x, dtype=torch.float32)
        split_kernel[(triton.cdiv(x.numel(), 128),)](x, bits, roots, x.numel(), BLOCK=128)
        return bits, roots
