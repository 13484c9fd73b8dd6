# honest | family: matmul | mechanism: batched matmul, batch on the second grid axis, transposed right operand by strides
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.einsum("bik,bjk->bij", a, b)


def get_inputs():
    return [torch.randn(4, 25, 37), torch.randn(4, 18, 37)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bmm(a_ptr, b_ptr, c_ptr, M, N, K, sab, sam, sak, sbb, sbk, sbn, scb, scm, scn,
        BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    batch = tl.program_id(1)
    cols = tl.cdiv(N, BN)
    rm = (pid // cols) * BM + tl.arange(0, BM)
    rn = (pid % cols) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptr += batch * sab
    b_ptr += batch * sbb
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * sam + (k + rk)[None, :] * sak, mask=(rm[:, None] < M) & (k + rk[None, :] < K), other=0.0)
        b = tl.load(b_ptr + (k + rk)[:, None] * sbk + rn[None, :] * sbn, mask=(k + rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + batch * scb + rm[:, None] * scm + rn[None, :] * scn, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        bt = b.transpose(1, 2)
        B, M, K = a.shape
        N = bt.shape[2]
        c = torch.empty(B, M, N, device=a.device, dtype=a.dtype)
        bmm[(triton.cdiv(M, 16) * triton.cdiv(N, 16), B)](a, bt, c, M, N, K, *a.stride(), *bt.stride(), *c.stride(), BM=16, BN=16, BK=16)
        return c
