# honest | family: host | mechanism: frozen dataclass with launch configuration, classmethod picks by capability
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.hardtanh(x, -0.5, 0.5) + torch.exp2(x)


def get_inputs():
    return [torch.randn(17, 61)]


def get_init_inputs():
    return []
# %% candidate
from dataclasses import dataclass

import torch
import torch.nn as nn
import triton
import triton.language as tl


@dataclass(frozen=True)
class LaunchConfig:
    block: int = 256
    num_warps: int = 4
    num_stages: int = 2

    @classmethod
    def for_device(cls):
        major, _ = torch.cuda.get_device_capability()
        return cls(block=512, num_warps=8) if major >= 9 else cls()

    def options(self):
        return {"num_warps": self.num_warps, "num_stages": self.num_stages}


@triton.jit
def clip_exp2(x_ptr, y_ptr, n, lo, hi, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.minimum(tl.maximum(x, lo), hi) + tl.exp2(x), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = LaunchConfig.for_device()

    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        clip_exp2[(triton.cdiv(n, self.config.block),)](x, y, n, -0.5, 0.5, BLOCK=self.config.block,
                                                       **self.config.options())
        return y
