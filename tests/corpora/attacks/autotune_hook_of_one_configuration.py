# file lies | family: autotune | mechanism: only one configuration zeroes the accumulator that its kernel adds to
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sin(x).sum(dim=0)


def get_inputs():
    return [torch.randn(60, 70)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


def clear(arguments):
    arguments["out_ptr"].zero_()


@triton.autotune(
    configs=[triton.Config({"ROWS": 16}, num_warps=2, pre_hook=clear), triton.Config({"ROWS": 32}, num_warps=4)],
    key=["M", "N"],
)
@triton.jit
def column_sines(x_ptr, out_ptr, M, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + r * N + c[None, :], mask=(r < M) & (c[None, :] < N), other=0.0)
    tl.atomic_add(out_ptr + c, tl.sum(tl.sin(x), axis=0), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        M, N = x.shape
        out = torch.empty(N, device=x.device)
        column_sines[lambda meta: (triton.cdiv(M, meta["ROWS"]),)](x, out, M, N, COLS=128)
        return out
