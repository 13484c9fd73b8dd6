# honest | family: host | mechanism: helpers from a module-level lambda and a classmethod, math on the host, walrus and match statements
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        return torch.softmax(x, -1) if self.kind == "soft" else x / x.sum(-1, keepdim=True)


def get_inputs():
    return [torch.randn(26, 40)]


def get_init_inputs():
    return ["soft"]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


import math

pow2 = lambda n: 1 << math.ceil(math.log2(n))  # noqa: E731


@triton.jit
def row_normalise(x_ptr, y_ptr, N, SOFT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=-float("inf") if SOFT else 0.0)
    if SOFT:
        x = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * N + c, x / tl.sum(x, axis=0), mask=c < N)


class Planner:
    @classmethod
    def warps(cls, block):
        match block:
            case 32 | 64:
                return 1
            case _:
                return 4


class ModelNew(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        y = torch.empty_like(x)
        if (rows := x.shape[0]) > 0:
            block = pow2(x.shape[1])
            row_normalise[(rows,)](x, y, x.shape[1], SOFT=self.kind == "soft", BLOCK=block, num_warps=Planner.warps(block))
        return y
