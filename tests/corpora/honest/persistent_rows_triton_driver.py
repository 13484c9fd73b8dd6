# honest | family: persistent | mechanism: SM count through triton.runtime.driver utils, rows strided over programs, row norm
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(93)

    def forward(self, x):
        return self.norm(x) + x


def get_inputs():
    return [torch.randn(61, 93)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.runtime import driver


@triton.jit
def _ln_residual(X, W, B, Y, n_rows, n_cols, eps, BLOCK: tl.constexpr):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    w = tl.load(W + cols, mask=mask)
    b = tl.load(B + cols, mask=mask)
    for row in tl.range(row_start, n_rows, row_step):
        x = tl.load(X + row * n_cols + cols, mask=mask, other=0.0)
        mean = tl.sum(x, axis=0) / n_cols
        d = tl.where(mask, x - mean, 0.0)
        var = tl.sum(d * d, axis=0) / n_cols
        y = d * tl.rsqrt(var + eps) * w + b + x
        tl.store(Y + row * n_cols + cols, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(93)

    def forward(self, x):
        properties = driver.active.utils.get_device_properties(torch.cuda.current_device())
        num_sm = properties["multiprocessor_count"]
        y = torch.empty_like(x)
        n_rows, n_cols = x.shape
        grid = (min(num_sm * 2, n_rows) // 4, 1, 1)
        _ln_residual[grid](x, self.norm.weight, self.norm.bias, y, n_rows, n_cols, self.norm.eps,
                           BLOCK=triton.next_power_of_2(n_cols), num_warps=4)
        return y
