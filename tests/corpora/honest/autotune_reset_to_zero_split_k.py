# honest | family: autotune | mechanism: split-K with reset_to_zero and configs over SPLIT_K
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(40, 130), torch.randn(130, 24)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


def get_configs():
    configs = []
    for block_k in (16, 32):
        for split_k in (1, 3):
            configs.append(triton.Config({"BLOCK_K": block_k, "SPLIT_K": split_k}, num_warps=4,
                                         num_stages=2))
    return configs


@triton.autotune(configs=get_configs(), key=["M", "N", "K"], reset_to_zero=["c_ptr"])
@triton.jit
def mm_split(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
             BLOCK_K: tl.constexpr, SPLIT_K: tl.constexpr, BLOCK_M: tl.constexpr = 16,
             BLOCK_N: tl.constexpr = 16):
    pid = tl.program_id(0)
    pid_z = tl.program_id(1)
    grid_n = tl.cdiv(N, BLOCK_N)
    rm = (pid // grid_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = (pid % grid_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    ram = tl.max_contiguous(tl.multiple_of(rm % M, BLOCK_M), BLOCK_M)
    rbn = tl.max_contiguous(tl.multiple_of(rn % N, BLOCK_N), BLOCK_N)
    rk = pid_z * BLOCK_K + tl.arange(0, BLOCK_K)
    a = a_ptr + (ram[:, None] * sam + rk[None, :] * sak)
    b = b_ptr + (rk[:, None] * sbk + rbn[None, :] * sbn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K * SPLIT_K)):
        remaining = K - k * (BLOCK_K * SPLIT_K)
        ta = tl.load(a, mask=rk[None, :] < remaining, other=0.0)
        tb = tl.load(b, mask=rk[:, None] < remaining, other=0.0)
        acc += tl.dot(ta, tb, input_precision="ieee")
        a += BLOCK_K * SPLIT_K * sak
        b += BLOCK_K * SPLIT_K * sbk
    c = c_ptr + (rm[:, None] * scm + rn[None, :] * scn)
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    if SPLIT_K == 1:
        tl.store(c, acc, mask=mask)
    else:
        tl.atomic_add(c, acc, mask=mask)


class ModelNew(nn.Module):
    def forward(self, a, b):
        M, K = a.shape
        _, N = b.shape
        c = torch.zeros((M, N), device=a.device, dtype=a.dtype)
        grid = lambda META: (triton.cdiv(M, 16) * triton.cdiv(N, 16), META["SPLIT_K"])
        mm_split[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1),
                       c.stride(0), c.stride(1))
        return c
