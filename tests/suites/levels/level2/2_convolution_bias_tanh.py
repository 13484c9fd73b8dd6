import torch
import torch.nn as nn


class Model(nn.Module):
    """A convolution, another bias, and tanh."""

    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.convolution = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x):
        return torch.tanh(self.convolution(x) + self.bias)


in_channels = 3
out_channels = 8
kernel_size = 3


def get_inputs():
    return [torch.randn(2, in_channels, 12, 12)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
