# honest | family: autotune | mechanism: best_config of the tuner read and logged after the launch, warnings.warn for other dtypes
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.square(x) - 1


def get_inputs():
    return [torch.randn(700)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


import logging
import warnings

log = logging.getLogger("tuner")


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (64, 256)], key=["n"])
@triton.jit
def square_minus(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * x - 1, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        if x.dtype not in (torch.float32, torch.float16):
            warnings.warn(f"untested dtype {x.dtype}")
        y = torch.empty_like(x)
        square_minus[lambda META: (triton.cdiv(x.numel(), META["BLOCK"]),)](x, y, x.numel())
        log.debug("chosen: %s", square_minus.best_config)
        return y
