# honest | family: language | mechanism: tl.softmax, tl.flip and tl.topk of Triton's standard library
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        p = torch.softmax(x, dim=-1)
        return p.flip(-1), torch.topk(x, 4, dim=-1).values


def get_inputs():
    return [torch.randn(15, 32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_top(x_ptr, p_ptr, t_ptr, N: tl.constexpr, K: tl.constexpr, BM: tl.constexpr, M):
    r = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    c = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + r * N + c, mask=r < M, other=0.0)
    p = tl.softmax(x, dim=1, keep_dims=True)
    tl.store(p_ptr + r * N + c, tl.flip(p, 1), mask=r < M)
    k = tl.arange(0, K)[None, :]
    tl.store(t_ptr + r * K + k, tl.topk(x, K), mask=r < M)


class ModelNew(nn.Module):
    def forward(self, x):
        p = torch.empty_like(x)
        t = torch.empty(x.shape[0], 4, device=x.device)
        softmax_top[(triton.cdiv(x.shape[0], 4),)](x, p, t, N=32, K=4, BM=4, M=x.shape[0])
        return p, t
