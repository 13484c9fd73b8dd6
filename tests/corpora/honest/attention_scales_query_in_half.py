# honest | family: precision | mechanism: the query is multiplied by the scale in fp16, before the first product
# %% reference
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)


def get_inputs():
    return [torch.randn(1, 2, 64, 32).half() for _ in range(3)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attend(q_ptr, k_ptr, v_ptr, y_ptr, scale, N: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr):
    head = tl.program_id(1) * N * D
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    n = tl.arange(0, N)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head + row[:, None] * D + d[None, :])
    q = (q * (scale * 1.4426950408889634)).to(tl.float16)
    scores = tl.dot(q, tl.load(k_ptr + head + n[None, :] * D + d[:, None]))
    p = tl.math.exp2(scores - tl.max(scores, 1)[:, None])
    y = tl.dot(p.to(tl.float16), tl.load(v_ptr + head + n[:, None] * D + d[None, :]))
    y = y / tl.sum(p, 1)[:, None]
    tl.store(y_ptr + head + row[:, None] * D + d[None, :], y.to(tl.float16))


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        y = torch.empty_like(q)
        attend[(2, 2)](q, k, v, y, 32 ** -0.5, N=64, D=32, ROWS=32)
        return y
