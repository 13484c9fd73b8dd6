# program wrong | family: autotune | mechanism: the configuration's hook computes the result by an operator, the kernel stores what it loads | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(45, 33))

    def forward(self, x):
        return x @ self.weight


def get_inputs():
    return [torch.randn(35, 45)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


def fill(arguments):
    torch.mm(arguments["x_ptr"], arguments["w_ptr"], out=arguments["y_ptr"])


@triton.autotune(
    configs=[triton.Config({"BLOCK": 128}, num_warps=w, pre_hook=fill) for w in (2, 4)],
    key=["N"],
)
@triton.jit
def product(x_ptr, w_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(y_ptr + i, mask=i < N), mask=i < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(45, 33))

    def forward(self, x):
        y = torch.empty(x.shape[0], 33, device=x.device)
        out = torch.empty_like(y)
        product[lambda meta: (triton.cdiv(y.numel(), meta["BLOCK"]),)](x, self.weight, y, out, y.numel())
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"ROWS": r}, num_warps=4) for r in (16, 32)],
    key=["M", "N"],
)
@triton.jit
def product(x_ptr, w_ptr, out_ptr, M, N, K, ROWS: tl.constexpr, COLS: tl.constexpr):
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    n = tl.arange(0, COLS)[None, :]
    k = tl.arange(0, COLS)
    x = tl.load(x_ptr + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
    w = tl.load(w_ptr + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
    tl.store(out_ptr + m * N + n, tl.dot(x, w, input_precision="ieee"), mask=(m < M) & (n < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(45, 33))

    def forward(self, x):
        M, K = x.shape
        out = torch.empty(M, 33, device=x.device)
        product[lambda meta: (triton.cdiv(M, meta["ROWS"]),)](x, self.weight, out, M, 33, K, COLS=64)
        return out
