# honest | family: language | mechanism: static_assert, constexpr if with else chains, constexpr arithmetic and docstring in the kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, x):
        return nn.functional.max_pool1d(x, self.window, stride=self.window)


def get_inputs():
    return [torch.randn(4, 6, 97)]


def get_init_inputs():
    return [3]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool(x_ptr, y_ptr, n_in, n_out, MODE: tl.constexpr, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    """Pools each row of a (rows, n_in) tensor over windows that do not overlap."""
    tl.static_assert(WINDOW > 0, "window must be positive")
    HALF: tl.constexpr = WINDOW // 2
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = o < n_out
    p = x_ptr + row * n_in + o * WINDOW
    acc = tl.load(p + HALF, mask=m, other=0.0)
    for k in tl.static_range(0, WINDOW):
        if k != HALF:
            v = tl.load(p + k, mask=m, other=0.0)
            if MODE == "max":
                acc = tl.maximum(acc, v)
            elif MODE == "sum":
                acc += v
            else:
                tl.static_assert(False, "unknown mode")
    tl.store(y_ptr + row * n_out + o, acc, mask=m)


class ModelNew(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, x):
        *lead, n = x.shape
        n_out = (n - self.window) // self.window + 1
        y = x.new_empty(*lead, n_out)
        rows = x.numel() // n
        pool[(rows, triton.cdiv(n_out, 16))](x, y, n, n_out, MODE="max", WINDOW=self.window, BLOCK=16)
        return y
