# honest | family: reductions | mechanism: long rows are summed one element after the other, by a lane a row
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cat([x.sum(1), (x * x).mean(1), x.std(1)])


def get_inputs():
    return [torch.randn(96, 3000)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def moments(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = r < rows
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for k in range(columns):
        x = tl.load(x_ptr + r * columns + k, mask=keep, other=0.0)
        total += x
        squares += x * x
    mean = total / columns
    around = tl.zeros((BLOCK,), tl.float32)
    for k in range(columns):
        x = tl.load(x_ptr + r * columns + k, mask=keep, other=0.0) - mean
        around += x * x
    tl.store(y_ptr + r, total, mask=keep)
    tl.store(y_ptr + rows + r, squares / columns, mask=keep)
    tl.store(y_ptr + 2 * rows + r, tl.sqrt(around / (columns - 1)), mask=keep)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        y = torch.empty(3 * rows, device=x.device)
        moments[(triton.cdiv(rows, 64),)](x, y, rows, columns, BLOCK=64)
        return y
