import torch
import torch.nn as nn


class Model(nn.Module):
    """Max pooling of images."""

    def __init__(self, kernel_size, stride):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride, padding=1)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(2, 4, 17, 15)]


def get_init_inputs():
    return [3, 2]
