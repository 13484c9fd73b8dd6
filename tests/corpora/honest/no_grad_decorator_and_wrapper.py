# honest | family: host | mechanism: forward under torch.no_grad as a decorator, wrapper function with out= argument and checks
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.lerp(x, y, 0.3)


def get_inputs():
    return [torch.randn(8, 9, 10), torch.randn(8, 9, 10)]


def get_init_inputs():
    return []
# %% candidate
from typing import Optional

import torch
import triton
import triton.language as tl


@triton.jit
def _lerp(x_ptr, y_ptr, o_ptr, w, numel, BLOCK: tl.constexpr):
    block = tl.program_id(0).to(tl.int64) * BLOCK
    i = block + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < numel)
    y = tl.load(y_ptr + i, mask=i < numel)
    tl.store(o_ptr + i, x + w * (y - x), mask=i < numel)


def lerp(x: torch.Tensor, y: torch.Tensor, w: float, out: Optional[torch.Tensor] = None) -> torch.Tensor:
    if x.shape != y.shape:
        raise ValueError(f"shapes differ: {tuple(x.shape)} and {tuple(y.shape)}")
    if not x.is_cuda:
        raise RuntimeError("CUDA tensors expected")
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x) if out is None else out
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
    _lerp[grid](x, y, out, w, x.numel(), BLOCK=256)
    return out


class ModelNew(torch.nn.Module):
    @torch.no_grad()
    def forward(self, x, y):
        return lerp(x, y, 0.3)
