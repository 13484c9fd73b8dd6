# honest | family: descriptors | mechanism: autotuned matmul on host descriptors, Config pre_hook sets block_shape
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.relu(a @ b.T)


def get_inputs():
    return [torch.randn(40, 64), torch.randn(48, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.tools.tensor_descriptor import TensorDescriptor


def set_blocks(nargs):
    bm, bn, bk = nargs["BM"], nargs["BN"], nargs["BK"]
    nargs["a_desc"].block_shape = [bm, bk]
    nargs["b_desc"].block_shape = [bn, bk]
    nargs["c_desc"].block_shape = [bm, bn]


@triton.autotune(
    configs=[triton.Config({"BM": bm, "BN": 16, "BK": bk}, num_stages=s, num_warps=4, pre_hook=set_blocks)
             for bm, bk, s in [(16, 16, 2), (32, 32, 3)]],
    key=["M", "N", "K"],
)
@triton.jit
def mm_tma(a_desc, b_desc, c_desc, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    off_m = tl.program_id(0) * BM
    off_n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        a = a_desc.load([off_m, k * BK])
        b = b_desc.load([off_n, k * BK])
        acc = tl.dot(a, b.T, acc, input_precision="ieee")
    c_desc.store([off_m, off_n], tl.maximum(acc, 0.0))


class ModelNew(nn.Module):
    def forward(self, a, b):
        M, K = a.shape
        N = b.shape[0]
        c = torch.empty((M, N), device=a.device, dtype=a.dtype)
        dummy = [1, 1]
        descs = [TensorDescriptor(t, t.shape, t.stride(), dummy) for t in (a, b, c)]
        mm_tma[lambda META: (triton.cdiv(M, META["BM"]), triton.cdiv(N, META["BN"]))](*descs, M, N, K)
        return c
