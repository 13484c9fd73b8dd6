# program wrong | family: lazy | mechanism: indices come as int32 where the reference gives int64 | stage: correct | check: interface+outputs
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.book = nn.Parameter(torch.randn(codes, width))

    def forward(self, x):
        return torch.argmax(x @ self.book.t(), dim=-1)

def get_inputs():
    return [torch.randn(90, 12)]

def get_init_inputs():
    return [15, 12]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nearest(x, book, out, codes, width, BC: tl.constexpr, BW: tl.constexpr):
    row = tl.program_id(0)
    c, w = tl.arange(0, BC), tl.arange(0, BW)
    v = tl.load(x + row * width + w, mask=w < width, other=0.0)
    b = tl.load(book + c[:, None] * width + w[None, :], mask=(c[:, None] < codes) & (w[None, :] < width), other=0.0)
    score = tl.where(c < codes, tl.sum(b * v[None, :], axis=1), -float("inf"))
    tl.store(out + row, tl.argmax(score, axis=0))


class ModelNew(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.book = nn.Parameter(torch.randn(codes, width))

    def forward(self, x):
        out = torch.empty(x.shape[0], dtype=torch.int32, device=x.device)
        nearest[(x.shape[0],)](x, self.book, out, *self.book.shape, BC=16, BW=16)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nearest(x, book, out, codes, width, BC: tl.constexpr, BW: tl.constexpr):
    row = tl.program_id(0)
    c, w = tl.arange(0, BC), tl.arange(0, BW)
    v = tl.load(x + row * width + w, mask=w < width, other=0.0)
    b = tl.load(book + c[:, None] * width + w[None, :], mask=(c[:, None] < codes) & (w[None, :] < width), other=0.0)
    score = tl.where(c < codes, tl.sum(b * v[None, :], axis=1), -float("inf"))
    tl.store(out + row, tl.argmax(score, axis=0))


class ModelNew(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.book = nn.Parameter(torch.randn(codes, width))

    def forward(self, x):
        out = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
        nearest[(x.shape[0],)](x, self.book, out, *self.book.shape, BC=16, BW=16)
        return out
