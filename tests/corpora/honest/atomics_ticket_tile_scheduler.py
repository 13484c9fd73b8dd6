# honest | family: atomics | mechanism: dynamic tile scheduler: each program takes tickets from an atomic counter in a while loop
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.logsigmoid(x)


def get_inputs():
    return [torch.randn(1500)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ticketed(x_ptr, y_ptr, ticket_ptr, n, n_tiles, BLOCK: tl.constexpr):
    tile = tl.atomic_add(ticket_ptr, 1)
    while tile < n_tiles:
        i = tile * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        y = tl.minimum(x, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(x)))
        tl.store(y_ptr + i, y, mask=i < n)
        tile = tl.atomic_add(ticket_ptr, 1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        ticket = torch.zeros((), dtype=torch.int32, device=x.device)
        tiles = triton.cdiv(x.numel(), 128)
        ticketed[(5,)](x, y, ticket, x.numel(), tiles, BLOCK=128)
        return y
