# program wrong | family: guards | mechanism: an index that stands for nothing adds to the bin before the first | stage: correct | check: guards
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, labels, weights):
        used = labels >= 0
        counts = torch.zeros(80, device=labels.device)
        return counts.index_add(0, labels.clamp(min=0), weights * used)


def get_inputs():
    return [torch.randint(-1, 80, (300,)), torch.randn(300)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weighted_counts(label_ptr, weight_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(label_ptr + i, mask=i < n, other=0)
    w = tl.load(weight_ptr + i, mask=i < n, other=0.0)
    tl.atomic_add(out_ptr + label, w, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, labels, weights):
        out = torch.zeros(80, device=labels.device)
        n = labels.numel()
        weighted_counts[(triton.cdiv(n, 128),)](labels, weights, out, n, BLOCK=128)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weighted_counts(label_ptr, weight_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(label_ptr + i, mask=i < n, other=0)
    w = tl.load(weight_ptr + i, mask=i < n, other=0.0)
    tl.atomic_add(out_ptr + label, w, mask=(i < n) & (label >= 0))


class ModelNew(nn.Module):
    def forward(self, labels, weights):
        out = torch.zeros(80, device=labels.device)
        n = labels.numel()
        weighted_counts[(triton.cdiv(n, 128),)](labels, weights, out, n, BLOCK=128)
        return out
