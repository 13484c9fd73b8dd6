"""A depthwise-separable block: depthwise convolution, batch norm, gate by the pooled channels."""

# small: BATCH=2 WIDTH=16 SIZE=14

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
WIDTH = 192
SIZE = 28


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 5, padding=2, groups=width, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.squeeze = nn.Conv2d(width, width // 4, 1)
        self.excite = nn.Conv2d(width // 4, width, 1)
        self.pointwise = nn.Conv2d(width, width, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.eval()

    def forward(self, x):
        y = F.hardswish(self.norm1(self.depthwise(x)))
        gate = self.excite(F.relu(self.squeeze(y.mean((2, 3), keepdim=True))))
        y = y * F.hardsigmoid(gate)
        return x + self.norm2(self.pointwise(y))


def get_inputs():
    return [torch.randn(BATCH, WIDTH, SIZE, SIZE)]


def get_init_inputs():
    return [WIDTH]
