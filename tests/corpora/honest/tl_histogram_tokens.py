# honest | family: language | mechanism: tl.histogram inside each program, added to the global counts
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, tokens):
        return nn.functional.one_hot(tokens, 16).sum(dim=(0, 1))


def get_inputs():
    return [torch.randint(0, 16, (14, 99))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count_tokens(t_ptr, out_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    t = tl.load(t_ptr + i, mask=i < n, other=0).to(tl.int32)
    h = tl.histogram(t, BINS, mask=i < n)
    tl.atomic_add(out_ptr + tl.arange(0, BINS), h.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, tokens):
        out = torch.zeros(16, dtype=torch.int64, device=tokens.device)
        count_tokens[(triton.cdiv(tokens.numel(), 256),)](tokens, out, tokens.numel(), BLOCK=256, BINS=16)
        return out
