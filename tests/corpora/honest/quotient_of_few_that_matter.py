# honest | family: precision | mechanism: one quotient by a sum near zero has nearly all of the error, so that the reference's own is a matter of luck
# %% reference
import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return y / (x.sum(1) + 0.25)


def get_inputs():
    return [torch.randn(3000, 6), torch.randn(3000)]


def get_init_inputs():
    return []
# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, TERMS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    total = tl.full((BLOCK,), 0.25, tl.float32)
    for k in tl.static_range(TERMS):
        total += tl.load(x_ptr + i * TERMS + (TERMS - 1 - k), mask=mask, other=0.0)
    tl.store(out_ptr + i, tl.load(y_ptr + i, mask=mask) / total, mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(y)
        kernel[(triton.cdiv(y.numel(), 256),)](x, y, out, y.numel(), TERMS=6, BLOCK=256)
        return out
