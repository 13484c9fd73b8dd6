# honest | family: matmul | mechanism: small 3x3 convolution computed directly with static loops over taps
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 6, 3, padding=1, bias=True)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(2, 4, 11, 13)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv3x3(x_ptr, w_ptr, b_ptr, y_ptr, H, W, C: tl.constexpr, O: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o = tl.program_id(1)
    n = tl.program_id(2)
    h = p // W
    w = p % W
    acc = tl.zeros((BLOCK,), tl.float32)
    for c in range(C):
        for kh in tl.static_range(3):
            for kw in tl.static_range(3):
                ih = h + kh - 1
                iw = w + kw - 1
                inside = (p < H * W) & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
                x = tl.load(x_ptr + ((n * C + c) * H + ih) * W + iw, mask=inside, other=0.0)
                acc += x * tl.load(w_ptr + ((o * C + c) * 3 + kh) * 3 + kw)
    acc += tl.load(b_ptr + o)
    tl.store(y_ptr + (n * O + o) * H * W + p, acc, mask=p < H * W)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 6, 3, padding=1, bias=True)

    def forward(self, x):
        N, C, H, W = x.shape
        y = torch.empty(N, 6, H, W, device=x.device, dtype=x.dtype)
        conv3x3[(triton.cdiv(H * W, 64), 6, N)](x, self.conv.weight, self.conv.bias, y, H, W, C=C, O=6, BLOCK=64)
        return y
