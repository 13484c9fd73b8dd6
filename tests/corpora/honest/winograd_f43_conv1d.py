# honest | family: precision | mechanism: a minimal filtering algorithm, whose fractions round
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv = nn.Conv1d(channels, out, 3)

    def forward(self, x):
        return torch.relu(self.conv(x))


def get_inputs():
    return [torch.randn(3, 12, 66)]


def get_init_inputs():
    return [12, 10]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


# F(4, 3) of Winograd (Lavin and Gray, 2015): four results from six products. Its sixths and
# twenty-fourths are no integers, also where all inputs are.
@triton.jit
def winograd(x_ptr, w_ptr, b_ptr, y_ptr, C, O, L, P, B: tl.constexpr):
    n = tl.program_id(0) // O
    o = tl.program_id(0) % O
    t = tl.arange(0, B) * 4
    m0 = tl.zeros((B,), tl.float32)
    m1 = tl.zeros((B,), tl.float32)
    m2 = tl.zeros((B,), tl.float32)
    m3 = tl.zeros((B,), tl.float32)
    m4 = tl.zeros((B,), tl.float32)
    m5 = tl.zeros((B,), tl.float32)
    for c in range(0, C):
        x = x_ptr + (n * C + c) * L + t
        d0 = tl.load(x, mask=t < L, other=0.0)
        d1 = tl.load(x + 1, mask=t + 1 < L, other=0.0)
        d2 = tl.load(x + 2, mask=t + 2 < L, other=0.0)
        d3 = tl.load(x + 3, mask=t + 3 < L, other=0.0)
        d4 = tl.load(x + 4, mask=t + 4 < L, other=0.0)
        d5 = tl.load(x + 5, mask=t + 5 < L, other=0.0)
        w = w_ptr + (o * C + c) * 3
        g0 = tl.load(w)
        g1 = tl.load(w + 1)
        g2 = tl.load(w + 2)
        m0 += (4 * d0 - 5 * d2 + d4) * (g0 / 4)
        m1 += (-4 * d1 - 4 * d2 + d3 + d4) * (-(g0 + g1 + g2) / 6)
        m2 += (4 * d1 - 4 * d2 - d3 + d4) * (-(g0 - g1 + g2) / 6)
        m3 += (-2 * d1 - d2 + 2 * d3 + d4) * (g0 / 24 + g1 / 12 + g2 / 6)
        m4 += (2 * d1 - d2 - 2 * d3 + d4) * (g0 / 24 - g1 / 12 + g2 / 6)
        m5 += (4 * d1 - 5 * d3 + d5) * g2
    bias = tl.load(b_ptr + o)
    y = y_ptr + (n * O + o) * P + t
    tl.store(y, tl.maximum(m0 + m1 + m2 + m3 + m4 + bias, 0.0), mask=t < P)
    tl.store(y + 1, tl.maximum(m1 - m2 + 2 * m3 - 2 * m4 + bias, 0.0), mask=t + 1 < P)
    tl.store(y + 2, tl.maximum(m1 + m2 + 4 * m3 + 4 * m4 + bias, 0.0), mask=t + 2 < P)
    tl.store(y + 3, tl.maximum(m1 - m2 + 8 * m3 - 8 * m4 + m5 + bias, 0.0), mask=t + 3 < P)


class ModelNew(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv = nn.Conv1d(channels, out, 3)

    def forward(self, x):
        N, C, L = x.shape
        O = self.conv.out_channels
        y = torch.empty(N, O, L - 2, device=x.device, dtype=x.dtype)
        winograd[(N * O,)](x, self.conv.weight, self.conv.bias, y, C, O, L, L - 2, B=16)
        return y
