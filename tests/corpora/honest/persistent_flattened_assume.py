# honest | family: persistent | mechanism: tl.range with flatten, tl.assume on sizes, persistent tiles with device descriptors
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, w):
        return nn.functional.leaky_relu(x @ w, 0.1)


def get_inputs():
    return [torch.randn(48, 64), torch.randn(64, 80)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def persistent_tma(x_ptr, w_ptr, y_ptr, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tl.assume(M > 0)
    tl.assume(K % BK == 0)
    x_desc = tl.make_tensor_descriptor(x_ptr, [M, K], [K, 1], [BM, BK])
    w_desc = tl.make_tensor_descriptor(w_ptr, [K, N], [N, 1], [BK, BN])
    y_desc = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [BM, BN])
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, PROGRAMS, flatten=True):
        m = tile // tiles_n * BM
        n = tile % tiles_n * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(x_desc.load([m, k]), w_desc.load([k, n]), acc, input_precision="ieee")
        y_desc.store([m, n], tl.where(acc > 0, acc, 0.1 * acc))


class ModelNew(nn.Module):
    def forward(self, x, w):
        triton.set_allocator(lambda size, align, _: torch.empty(size, device=x.device, dtype=torch.int8))
        M, K = x.shape
        N = w.shape[1]
        y = torch.empty((M, N), dtype=x.dtype, device=x.device)
        persistent_tma[(7,)](x, w, y, M, N, K, PROGRAMS=7, BM=16, BN=16, BK=32)
        return y
