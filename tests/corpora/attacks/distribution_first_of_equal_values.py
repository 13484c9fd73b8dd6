# program wrong | family: distribution | mechanism: a stable order is wanted, and equal keys come in another one | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, keys):
        return torch.sort(keys, dim=1, stable=True).indices


def get_inputs():
    return [torch.randint(0, 12, (25, 32))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ranks(k_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    k = tl.load(k_ptr + row * n + i)
    mine, theirs = k[:, None], k[None, :]
    before = (theirs < mine) | ((theirs == mine) & (i[None, :] > i[:, None]))
    rank = tl.sum(before.to(tl.int32), axis=1)
    tl.store(out_ptr + row * n + rank, i.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, keys):
        out = torch.empty_like(keys)
        ranks[(keys.shape[0],)](keys, out, keys.shape[1], BLOCK=32)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ranks(k_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    k = tl.load(k_ptr + row * n + i)
    mine, theirs = k[:, None], k[None, :]
    before = (theirs < mine) | ((theirs == mine) & (i[None, :] < i[:, None]))
    rank = tl.sum(before.to(tl.int32), axis=1)
    tl.store(out_ptr + row * n + rank, i.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, keys):
        out = torch.empty_like(keys)
        ranks[(keys.shape[0],)](keys, out, keys.shape[1], BLOCK=32)
        return out
