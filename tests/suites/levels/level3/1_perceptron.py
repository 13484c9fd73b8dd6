import torch
import torch.nn as nn


class Model(nn.Module):
    """Two hidden layers."""

    def __init__(self, sizes):
        super().__init__()
        layers = []
        for before, after in zip(sizes, sizes[1:]):
            layers += [nn.Linear(before, after), nn.GELU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.randn(16, 32)]


def get_init_inputs():
    return [[32, 40, 24, 10]]
