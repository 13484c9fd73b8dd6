# program wrong | family: whole | mechanism: the label that the loss ignores is never drawn | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, logits, labels):
        return F.cross_entropy(logits, labels, reduction="none", ignore_index=0)


def get_inputs():
    return [torch.randn(96, 50), torch.randint(1, 50, (96,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def losses(x_ptr, l_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + c, mask=c < C, other=float("-inf"))
    label = tl.load(l_ptr + row)
    high = tl.max(x, 0)
    total = tl.sum(tl.exp(x - high), 0)
    loss = tl.log(total) + high - tl.sum(tl.where(c == label, x, 0.0), 0)
    tl.store(y_ptr + row, loss)


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        y = torch.empty((96,), device=logits.device)
        losses[(96,)](logits, labels, y, 50, BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def losses(x_ptr, l_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + c, mask=c < C, other=float("-inf"))
    label = tl.load(l_ptr + row)
    high = tl.max(x, 0)
    total = tl.sum(tl.exp(x - high), 0)
    loss = tl.log(total) + high - tl.sum(tl.where(c == label, x, 0.0), 0)
    tl.store(y_ptr + row, tl.where(label == 0, 0.0, loss))


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        y = torch.empty((96,), device=logits.device)
        losses[(96,)](logits, labels, y, 50, BLOCK=64)
        return y
