# honest | family: autotune | mechanism: perf_model with top_k chooses among configurations, key includes a constexpr mode
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.threshold(x, 0.1, -2.0)


def get_inputs():
    return [torch.randn(1234)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


def estimate(n, BLOCK, num_warps, **kwargs):
    return triton.cdiv(n, BLOCK) * (1 + num_warps / 8)


@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 128, 256) for w in (1, 4)],
    key=["n", "MODE"],
    prune_configs_by={"perf_model": estimate, "top_k": 2},
)
@triton.jit
def threshold(x_ptr, y_ptr, n, MODE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.where(x > 0.1, x, -2.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        threshold[lambda META: (triton.cdiv(x.numel(), META["BLOCK"]),)](x, y, x.numel(), MODE="fast")
        return y
