# honest | family: matmul | mechanism: attention in one kernel with online softmax, causal, exp2 with folded scale
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, q, k, v):
        s = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        T = q.shape[-2]
        keep = torch.tril(torch.ones(T, T, device=q.device)) > 0
        return torch.softmax(s.masked_fill(~keep, float("-inf")), dim=-1) @ v


def get_inputs():
    return [torch.randn(2, 3, 37, 16), torch.randn(2, 3, 37, 16), torch.randn(2, 3, 37, 16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attend(q_ptr, k_ptr, v_ptr, o_ptr, T, scale_log2, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    start_m = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * T * D
    rm = start_m * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + base + rm[:, None] * D + rd[None, :], mask=rm[:, None] < T, other=0.0)
    m_i = tl.full((BM,), float("-inf"), tl.float32)
    l_i = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start_n in range(0, (start_m + 1) * BM, BN):
        rn = start_n + tl.arange(0, BN)
        k = tl.load(k_ptr + base + rn[:, None] * D + rd[None, :], mask=rn[:, None] < T, other=0.0)
        v = tl.load(v_ptr + base + rn[:, None] * D + rd[None, :], mask=rn[:, None] < T, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale_log2
        s = tl.where((rm[:, None] >= rn[None, :]) & (rn[None, :] < T), s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        alpha = tl.math.exp2(m_i - m_new)
        p = tl.math.exp2(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    tl.store(o_ptr + base + rm[:, None] * D + rd[None, :], acc / l_i[:, None], mask=rm[:, None] < T)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        B, H, T, D = q.shape
        o = torch.empty_like(q)
        attend[(triton.cdiv(T, 16), B * H)](q, k, v, o, T, D ** -0.5 * 1.4426950408889634, D=D, BM=16, BN=16)
        return o
