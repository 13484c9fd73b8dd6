# honest | family: precision | mechanism: a comparison of a product, in which near ties fall either way
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(768, 512)

    def forward(self, x):
        return self.gate(x) > 0.05


def get_inputs():
    return [torch.randn(1024, 768)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate(x_ptr, w_ptr, b_ptr, y_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), tl.float32)
    for begin in range(0, K, BK):
        k = begin + tl.arange(0, BK)
        a = tl.load(x_ptr + m[:, None] * K + k[None, :])
        b = tl.load(w_ptr + n[None, :] * K + k[:, None])
        sums = tl.dot(a, b, sums, input_precision="ieee")
    sums += tl.load(b_ptr + n)[None, :]
    tl.store(y_ptr + m[:, None] * N + n[None, :], sums > 0.05)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(768, 512)

    def forward(self, x):
        y = torch.empty(x.shape[0], 512, device=x.device, dtype=torch.bool)
        grid = (x.shape[0] // 64, 512 // 64)
        gate[grid](x, self.gate.weight, self.gate.bias, y, 512, 768, BM=64, BN=64, BK=16)
        return y
