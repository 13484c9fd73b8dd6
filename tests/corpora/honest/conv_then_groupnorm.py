# honest | family: hybrid | mechanism: convolution by PyTorch, group norm and SiLU fused in one kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.GroupNorm(4, 16)

    def forward(self, x):
        return nn.functional.silu(self.norm(self.conv(x)))


def get_inputs():
    return [torch.randn(2, 3, 9, 11)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def group_norm_silu(x_ptr, w_ptr, b_ptr, y_ptr, C, P, eps, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    g = tl.program_id(0)
    n = tl.program_id(1)
    size = GROUP * P
    base = n * C * P + g * size
    i = tl.arange(0, BLOCK)
    m = i < size
    x = tl.load(x_ptr + base + i, mask=m, other=0.0)
    mean = tl.sum(x) / size
    d = tl.where(m, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d) / size + eps)
    c = g * GROUP + i // P
    y = d * rstd * tl.load(w_ptr + c, mask=m) + tl.load(b_ptr + c, mask=m)
    tl.store(y_ptr + base + i, y * tl.sigmoid(y), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.GroupNorm(4, 16)

    def forward(self, x):
        h = self.conv(x).contiguous()
        N, C, H, W = h.shape
        y = torch.empty_like(h)
        group_norm_silu[(4, N)](h, self.norm.weight, self.norm.bias, y, C, H * W, self.norm.eps,
                                GROUP=C // 4, BLOCK=triton.next_power_of_2(C // 4 * H * W))
        return y
