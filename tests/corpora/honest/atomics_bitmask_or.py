# honest | family: atomics | mechanism: atomic_or and atomic_xor build bit sets of the tokens that each row contains
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, tokens):
        present = torch.nn.functional.one_hot(tokens, 30).amax(dim=1)
        weights = 2 ** torch.arange(30, device=tokens.device)
        return (present * weights).sum(-1)


def get_inputs():
    return [torch.randint(0, 30, (44, 9))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bit_sets(t_ptr, o_ptr, n, L, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    t = tl.load(t_ptr + i, mask=i < n, other=0)
    one = tl.full((BLOCK,), 1, tl.int64)
    tl.atomic_or(o_ptr + i // L, one << t, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, tokens):
        out = torch.zeros(tokens.shape[0], dtype=torch.int64, device=tokens.device)
        bit_sets[(triton.cdiv(tokens.numel(), 128),)](tokens, out, tokens.numel(), tokens.shape[1], BLOCK=128)
        return out
