# program wrong | family: lazy | mechanism: results come in a list where the reference gives a tuple | stage: correct | check: interface+outputs
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        values, places = torch.max(x, dim=1)
        return values, places

def get_inputs():
    return [torch.randn(80, 23)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def argmax_rows(x, v, p, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    r = tl.load(x + row * cols + c, mask=c < cols, other=-float("inf"))
    top, place = tl.max(r, axis=0, return_indices=True)
    tl.store(v + row, top)
    tl.store(p + row, place.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        results = [x.new_empty(rows), torch.empty(rows, dtype=torch.int64, device=x.device)]
        argmax_rows[(rows,)](x, *results, cols, BLOCK=32)
        return results
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def argmax_rows(x, v, p, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    r = tl.load(x + row * cols + c, mask=c < cols, other=-float("inf"))
    top, place = tl.max(r, axis=0, return_indices=True)
    tl.store(v + row, top)
    tl.store(p + row, place.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        results = [x.new_empty(rows), torch.empty(rows, dtype=torch.int64, device=x.device)]
        argmax_rows[(rows,)](x, *results, cols, BLOCK=32)
        return tuple(results)
