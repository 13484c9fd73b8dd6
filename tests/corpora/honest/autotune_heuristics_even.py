# honest | family: autotune | mechanism: triton.heuristics under autotune sets EVEN_N and BLOCK from the arguments
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.log_softmax(x / 1.7, dim=-1)


def get_inputs():
    return [torch.randn(31, 96)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({}, num_warps=1), triton.Config({}, num_warps=4)], key=["N"])
@triton.heuristics({
    "BLOCK": lambda args: triton.next_power_of_2(args["N"]),
    "EVEN_N": lambda args: args["N"] == triton.next_power_of_2(args["N"]),
})
@triton.jit
def log_softmax_rows(x_ptr, y_ptr, N, inv_t, BLOCK: tl.constexpr, EVEN_N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    if EVEN_N:
        x = tl.load(x_ptr + row * N + cols)
    else:
        x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=float("-inf"))
    x = x * inv_t
    x = x - tl.max(x, 0)
    y = x - tl.log(tl.sum(tl.exp(x), 0))
    if EVEN_N:
        tl.store(y_ptr + row * N + cols, y)
    else:
        tl.store(y_ptr + row * N + cols, y, mask=cols < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        log_softmax_rows[(x.shape[0],)](x, y, x.shape[1], 1 / 1.7)
        return y
