"""A convolution with a batch norm in evaluation behind it."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(6, 10, 3, padding=1, groups=2)
        self.norm = nn.BatchNorm2d(10)
        self.eval()

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


def get_inputs():
    return [torch.randn(2, 6, 9, 9)]


def get_init_inputs():
    return []
