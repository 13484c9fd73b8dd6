import torch
import torch.nn as nn


class Model(nn.Module):
    """Means of a product's rows, through a sigmoid."""

    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return torch.sigmoid(torch.mean(a @ b, dim=1, keepdim=True))


def get_inputs():
    return [torch.randn(20, 32), torch.randn(32, 28)]


def get_init_inputs():
    return []
