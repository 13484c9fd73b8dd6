# honest | family: matmul | mechanism: attention for F.scaled_dot_product_attention, result allocated token-major and returned as a transposed view
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, q, k, v):
        return nn.functional.scaled_dot_product_attention(q, k, v)


def get_inputs():
    return [torch.randn(2, 3, 29, 16), torch.randn(2, 3, 29, 16), torch.randn(2, 3, 29, 16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attend(q_ptr, k_ptr, v_ptr, o_ptr, T, sob, soh, sot, scale, H: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BT: tl.constexpr):
    bh = tl.program_id(1)
    base = bh * T * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    t = tl.arange(0, BT)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + base + m[:, None] * D + d[None, :], mask=m[:, None] < T, other=0.0)
    k = tl.load(k_ptr + base + t[None, :] * D + d[:, None], mask=t[None, :] < T, other=0.0)
    v = tl.load(v_ptr + base + t[:, None] * D + d[None, :], mask=t[:, None] < T, other=0.0)
    s = tl.where(t[None, :] < T, tl.dot(q, k, input_precision="ieee") * scale, float("-inf"))
    p = tl.exp(s - tl.max(s, 1)[:, None])
    o = tl.dot(p, v, input_precision="ieee") / tl.sum(p, 1)[:, None]
    dst = o_ptr + (bh // H) * sob + (bh % H) * soh + m[:, None] * sot + d[None, :]
    tl.store(dst, o, mask=m[:, None] < T)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        B, H, T, D = q.shape
        o = torch.empty(B, T, H, D, device=q.device, dtype=q.dtype).transpose(1, 2)
        attend[(triton.cdiv(T, 16), B * H)](q, k, v, o, T, o.stride(0), o.stride(1), o.stride(2), D ** -0.5, H=H, D=D, BM=16, BT=32)
        return o
