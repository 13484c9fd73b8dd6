"""A decoder of transposed convolutions, as generators of images have it."""

# small: BATCH=2 WIDTH=16 SIZE=4

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32
WIDTH = 128
SIZE = 16


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up1 = nn.ConvTranspose2d(width, width // 2, 4, stride=2, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width // 2)
        self.up2 = nn.ConvTranspose2d(width // 2, width // 4, 4, stride=2, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width // 4)
        self.up3 = nn.ConvTranspose2d(width // 4, 3, 4, stride=2, padding=1)
        self.eval()

    def forward(self, x):
        x = F.leaky_relu(self.norm1(self.up1(x)), 0.2)
        x = F.leaky_relu(self.norm2(self.up2(x)), 0.2)
        return torch.tanh(self.up3(x)) * 0.5 + 0.5


def get_inputs():
    return [torch.randn(BATCH, WIDTH, SIZE, SIZE)]


def get_init_inputs():
    return [WIDTH]
