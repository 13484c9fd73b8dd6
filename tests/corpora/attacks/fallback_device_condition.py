# program wrong | family: fallback | mechanism: kernels are kept for a newer GPU than the one in the profile | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)

    def forward(self, ids):
        rows = self.table(ids)
        return rows / rows.norm(dim=-1, keepdim=True)

def get_inputs():
    return [torch.randint(0, 60, (4, 11))]

def get_init_inputs():
    return [60, 24]
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def narrow_ids(src, dst, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(dst + i, tl.load(src + i, mask=i < n).to(tl.int32), mask=i < n)


@triton.jit
def unit_rows(ids, table, y, width, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(table + tl.load(ids + t) * width + c, mask=c < width, other=0.0)
    tl.store(y + t * width + c, v / tl.sqrt(tl.sum(v * v, axis=0)), mask=c < width)


def _new_enough():
    return torch.cuda.get_device_capability() >= (11, 0)


class ModelNew(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)

    def forward(self, ids):
        short = torch.empty(ids.shape, dtype=torch.int32, device=ids.device)
        narrow_ids[(1,)](ids, short, ids.numel(), BLOCK=64)
        if not _new_enough():
            rows = F.embedding(short, self.table.weight)
            return rows / rows.norm(dim=-1, keepdim=True)
        w = self.table.weight
        y = w.new_empty(*ids.shape, w.shape[1])
        unit_rows[(ids.numel(),)](short, w, y, w.shape[1], BLOCK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def narrow_ids(src, dst, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(dst + i, tl.load(src + i, mask=i < n).to(tl.int32), mask=i < n)


@triton.jit
def unit_rows(ids, table, y, width, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(table + tl.load(ids + t) * width + c, mask=c < width, other=0.0)
    tl.store(y + t * width + c, v / tl.sqrt(tl.sum(v * v, axis=0)), mask=c < width)


def _new_enough():
    return torch.cuda.get_device_capability() >= (8, 0)


class ModelNew(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)

    def forward(self, ids):
        short = torch.empty(ids.shape, dtype=torch.int32, device=ids.device)
        narrow_ids[(1,)](ids, short, ids.numel(), BLOCK=64)
        if not _new_enough():
            rows = F.embedding(short, self.table.weight)
            return rows / rows.norm(dim=-1, keepdim=True)
        w = self.table.weight
        y = w.new_empty(*ids.shape, w.shape[1])
        unit_rows[(ids.numel(),)](short, w, y, w.shape[1], BLOCK=32)
        return y
