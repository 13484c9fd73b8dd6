# honest | family: matmul | mechanism: strided convolution as implicit GEMM, K index unravelled into channel and tap
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(5, 12, 3, stride=2, padding=1, bias=False)

    def forward(self, x):
        return nn.functional.relu6(self.conv(x))


def get_inputs():
    return [torch.randn(2, 5, 15, 12)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_gemm(x_ptr, w_ptr, y_ptr, C, H, W, O, OH, OW, P, K, BP: tl.constexpr, BO: tl.constexpr, BK: tl.constexpr):
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    n = p // (OH * OW)
    oh = (p // OW) % OH
    ow = p % OW
    acc = tl.zeros((BP, BO), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        c = k // 9
        ih = oh[:, None] * 2 - 1 + (k // 3 % 3)[None, :]
        iw = ow[:, None] * 2 - 1 + (k % 3)[None, :]
        ok = (p[:, None] < P) & (k[None, :] < K) & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
        x = tl.load(x_ptr + ((n[:, None] * C + c[None, :]) * H + ih) * W + iw, mask=ok, other=0.0)
        w = tl.load(w_ptr + o[None, :] * K + k[:, None], mask=(o[None, :] < O) & (k[:, None] < K), other=0.0)
        acc += tl.dot(x, w, input_precision="tf32x3")
    acc = tl.minimum(tl.maximum(acc, 0.0), 6.0)
    dst = y_ptr + ((n[:, None] * O + o[None, :]) * OH + oh[:, None]) * OW + ow[:, None]
    tl.store(dst, acc, mask=(p[:, None] < P) & (o[None, :] < O))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(5, 12, 3, stride=2, padding=1, bias=False)

    def forward(self, x):
        N, C, H, W = x.shape
        OH, OW = (H + 1) // 2, (W + 1) // 2
        y = torch.empty(N, 12, OH, OW, device=x.device)
        P = N * OH * OW
        conv_gemm[(triton.cdiv(P, 32), 1)](x, self.conv.weight, y, C, H, W, 12, OH, OW, P, C * 9, BP=32, BO=16, BK=16)
        return y
