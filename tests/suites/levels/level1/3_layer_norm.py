import torch
import torch.nn as nn


class Model(nn.Module):
    """Layer norm over the last dimension."""

    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return self.norm(x)


batch = 3
length = 10
features = 48


def get_inputs():
    return [torch.randn(batch, length, features)]


def get_init_inputs():
    return [features]
