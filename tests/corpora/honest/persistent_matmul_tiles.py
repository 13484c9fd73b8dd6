# honest | family: persistent | mechanism: persistent matmul, flat tile index over SM count, tl.range with num_stages, tile order grouped by a helper
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.proj = nn.Linear(n_in, n_out, bias=False)

    def forward(self, x):
        return torch.relu(self.proj(x))


def get_inputs():
    return [torch.randn(70, 48)]


def get_init_inputs():
    return [48, 90]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tile_position(tile, num_m, num_n, GROUP: tl.constexpr):
    per_group = GROUP * num_n
    group = tile // per_group
    first = group * GROUP
    size = min(num_m - first, GROUP)
    return first + (tile % size), (tile % per_group) // size


@triton.jit
def persistent_linear(a_ptr, w_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_wn, stride_wk,
                      stride_cm, stride_cn, NUM_SMS: tl.constexpr, BM: tl.constexpr,
                      BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    start = tl.program_id(0)
    num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    for tile in tl.range(start, num_m * num_n, NUM_SMS):
        pm, pn = tile_position(tile, num_m, num_n, GROUP)
        rm = pm * BM + tl.arange(0, BM)
        rn = pn * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in tl.range(0, K, BK, num_stages=2):
            rk = k + tl.arange(0, BK)
            a = tl.load(a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak,
                        mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
            w = tl.load(w_ptr + rn[None, :] * stride_wn + rk[:, None] * stride_wk,
                        mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
            acc = tl.dot(a, w, acc, input_precision="ieee")
        acc = tl.maximum(acc, 0.0)
        tl.store(c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn, acc,
                 mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.proj = nn.Linear(n_in, n_out, bias=False)

    def forward(self, x):
        w = self.proj.weight
        M, K = x.shape
        N = w.shape[0]
        c = torch.empty((M, N), device=x.device, dtype=x.dtype)
        sms = torch.cuda.get_device_properties(x.device).multi_processor_count
        programs = min(sms, 5)
        persistent_linear[(programs,)](x, w, c, M, N, K, x.stride(0), x.stride(1), w.stride(0),
                                       w.stride(1), c.stride(0), c.stride(1), NUM_SMS=programs,
                                       BM=16, BN=32, BK=16, GROUP=4, num_warps=4)
        return c
