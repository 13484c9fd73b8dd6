# honest | family: atomics | mechanism: integer histogram with atomic_add into an int64 zeros tensor, returned beside a float result
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        bins = torch.clamp(torch.floor((x + 4.0) * 4.0), 0, 31).long()
        counts = nn.functional.one_hot(bins.flatten(), 32).sum(0)
        return counts, torch.tanh(x)


def get_inputs():
    return [torch.randn(19, 83)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def bucket_count(x_ptr, counts_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    b = tl.floor((x + 4.0) * 4.0)
    b = tl.minimum(tl.maximum(b, 0.0), 31.0).to(tl.int32)
    tl.atomic_add(counts_ptr + b, 1, mask=mask)
    tl.store(y_ptr + offs, libdevice.tanh(x), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        counts = torch.zeros(32, dtype=torch.int64, device=x.device)
        y = torch.empty_like(x)
        n = x.numel()
        bucket_count[(triton.cdiv(n, 256),)](x, counts, y, n, BLOCK=256)
        return counts, y
