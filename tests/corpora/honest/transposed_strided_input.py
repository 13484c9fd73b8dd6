# honest | family: shapes | mechanism: input is a transposed view and a strided slice, strides passed, result keeps the transposed layout
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.sin(x.t()) * y[:, ::2]


def get_inputs():
    return [torch.randn(31, 18), torch.randn(18, 62)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sin_mul(x, y, o, M, N, sx0, sx1, sy0, sy1, so0, so1, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    j = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    m = (i < M) & (j < N)
    v = tl.sin(tl.load(x + i * sx0 + j * sx1, mask=m)) * tl.load(y + i * sy0 + j * sy1, mask=m)
    tl.store(o + i * so0 + j * so1, v, mask=m)


class ModelNew(nn.Module):
    def forward(self, x, y):
        xt, ys = x.t(), y[:, ::2]
        out = torch.empty_like(xt)
        M, N = xt.shape
        sin_mul[(triton.cdiv(M, 16), triton.cdiv(N, 16))](xt, ys, out, M, N, *xt.stride(), *ys.stride(), *out.stride(), BM=16, BN=16)
        return out
