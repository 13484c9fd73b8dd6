# honest | family: autotune | mechanism: two autotuned kernels in one forward, one inside a dictionary, warmup and rep given
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(60, elementwise_affine=False)

    def forward(self, x):
        return torch.sin(self.norm(x)), x.cos()


def get_inputs():
    return [torch.randn(20, 60)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune([triton.Config(kwargs={}, num_warps=w) for w in (1, 2)], key=["N"], warmup=5, rep=20)
@triton.jit
def norm_sin(x_ptr, y_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    x = tl.load(x_ptr + row * N + c, mask=m, other=0.0)
    d = tl.where(m, x - tl.sum(x) / N, 0.0)
    y = d / tl.sqrt(tl.sum(d * d) / N + eps)
    tl.store(y_ptr + row * N + c, tl.sin(y), mask=m)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64, "UNROLL": 2}),
        triton.Config({"BLOCK": 32, "UNROLL": 4}, num_warps=1, maxnreg=64),
    ],
    key=[],
)
@triton.jit
def cosine(x_ptr, y_ptr, n, BLOCK: tl.constexpr, UNROLL: tl.constexpr):
    base = tl.program_id(0) * BLOCK * UNROLL
    for u in tl.static_range(UNROLL):
        i = base + u * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + i, tl.cos(tl.load(x_ptr + i, mask=i < n)), mask=i < n)


KERNELS = {"norm": norm_sin, "cos": cosine}


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(60, elementwise_affine=False)

    def forward(self, x):
        a, b = torch.empty_like(x), torch.empty_like(x)
        KERNELS["norm"][(x.shape[0],)](x, a, x.shape[1], self.norm.eps, BLOCK=64)
        KERNELS["cos"][lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"] * meta["UNROLL"]),)](x, b, x.numel())
        return a, b
