# honest | family: language | mechanism: from __future__ import annotations above kernels with constexpr and pointer annotations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.erf(x) * x


def get_inputs():
    return [torch.randn(11, 91)]


def get_init_inputs():
    return []
# %% candidate
from __future__ import annotations

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def erf_x(x_ptr, y_ptr, n: int, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.erf(x) * x, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        erf_x[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
