# honest | family: host | mechanism: conv1x1 and batch-norm folded into packed weights on the first call, cached on the module
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(12, 20, 1)
        self.bn = nn.BatchNorm2d(20)
        self.bn.running_mean.normal_()
        self.bn.running_var.uniform_(0.5, 2.0)
        self.eval()

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


def get_inputs():
    return [torch.randn(3, 12, 7, 9)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv1x1_relu(x_ptr, w_ptr, b_ptr, y_ptr, C, O, P, BO: tl.constexpr, BP: tl.constexpr, BC: tl.constexpr):
    b = tl.program_id(0)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    p = tl.program_id(2) * BP + tl.arange(0, BP)
    c = tl.arange(0, BC)
    w = tl.load(w_ptr + o[:, None] * C + c[None, :], mask=(o[:, None] < O) & (c[None, :] < C), other=0.0)
    x = tl.load(x_ptr + (b * C + c[:, None]) * P + p[None, :], mask=(c[:, None] < C) & (p[None, :] < P), other=0.0)
    y = tl.dot(w, x, input_precision="ieee") + tl.load(b_ptr + o, mask=o < O, other=0.0)[:, None]
    tl.store(y_ptr + (b * O + o[:, None]) * P + p[None, :], tl.maximum(y, 0.0), mask=(o[:, None] < O) & (p[None, :] < P))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(12, 20, 1)
        self.bn = nn.BatchNorm2d(20)
        self.bn.running_mean.normal_()
        self.bn.running_var.uniform_(0.5, 2.0)
        self.eval()
        self._packed = None

    def _fold(self):
        if self._packed is None:
            scale = self.bn.weight / torch.sqrt(self.bn.running_var + self.bn.eps)
            w = (self.conv.weight[:, :, 0, 0] * scale[:, None]).contiguous()
            self._packed = w, (self.conv.bias - self.bn.running_mean) * scale + self.bn.bias
        return self._packed

    def forward(self, x):
        w, bias = self._fold()
        B, C, H, W = x.shape
        O = w.shape[0]
        y = torch.empty(B, O, H, W, device=x.device, dtype=x.dtype)
        conv1x1_relu[(B, triton.cdiv(O, 16), triton.cdiv(H * W, 16))](x, w, bias, y, C, O, H * W, BO=16, BP=16, BC=16)
        return y
