# program wrong | family: decoy | mechanism: the reference's steps replaced by one fused PyTorch operator, its result copied by a kernel | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, q, k, v):
        scores = q @ k.transpose(-1, -2) * 0.01
        return torch.softmax(scores, dim=-1) @ v

def get_inputs():
    return [torch.randn(2, 2, 18, 16), torch.randn(2, 2, 18, 16), torch.randn(2, 2, 18, 16)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def gather_heads(src, dst, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + i, tl.load(src + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        o = F.scaled_dot_product_attention(q, k, v, scale=0.01)
        out = torch.empty(q.shape, device=q.device)
        gather_heads[(triton.cdiv(o.numel(), 256),)](o.contiguous(), out, o.numel(), BLOCK=256)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q, k, v, out, T, D: tl.constexpr, BLOCK: tl.constexpr):
    head, t = tl.program_id(0), tl.program_id(1)
    base = head * T * D
    d = tl.arange(0, D)
    s = tl.arange(0, BLOCK)
    inside = s[:, None] < T
    query = tl.load(q + base + t * D + d)
    keys = tl.load(k + base + s[:, None] * D + d[None, :], mask=inside, other=0.0)
    scores = tl.where(s < T, tl.sum(keys * query[None, :], axis=1) * 0.01, -float("inf"))
    e = tl.exp(scores - tl.max(scores, axis=0))
    values = tl.load(v + base + s[:, None] * D + d[None, :], mask=inside, other=0.0)
    o = tl.sum(values * e[:, None], axis=0) / tl.sum(e, axis=0)
    tl.store(out + base + t * D + d, o)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        out = torch.empty(q.shape, device=q.device)
        B, H, T, D = q.shape
        attention_kernel[(B * H, T)](q, k, v, out, T, D=D, BLOCK=32)
        return out
