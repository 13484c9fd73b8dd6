"""One stage of a U-Net's decoder: upsampling, the skip connection, two group-normalised convolutions."""

# small: BATCH=2 WIDTH=16 SIZE=16

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
WIDTH = 128
SIZE = 64


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.GroupNorm(8, 2 * width)
        self.conv1 = nn.Conv2d(2 * width, width, 3, padding=1)
        self.norm2 = nn.GroupNorm(8, width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.skip = nn.Conv2d(2 * width, width, 1)

    def forward(self, x, skip):
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        x = torch.cat([x, skip], dim=1)
        y = self.conv1(F.silu(self.norm1(x)))
        y = self.conv2(F.silu(self.norm2(y)))
        return y + self.skip(x)


def get_inputs():
    return [
        torch.randn(BATCH, WIDTH, SIZE // 2, SIZE // 2),
        torch.randn(BATCH, WIDTH, SIZE, SIZE),
    ]


def get_init_inputs():
    return [WIDTH]
