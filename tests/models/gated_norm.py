"""A layer norm with a pointwise tail, a tied projection and a buffer; two results."""

import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 37
WIDTH = 72


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate = nn.Parameter(torch.rand(width))
        self.project = nn.Linear(width, width)
        self.again = self.project
        self.register_buffer("offset", torch.randn(width))

    def forward(self, x):
        h = self.norm(x)
        h = F.gelu(h) * self.gate + self.offset
        h = torch.tanh(h) + 0.5 * x
        return x - self.again(h), h


def get_inputs():
    return [torch.randn(ROWS, WIDTH)]


def get_init_inputs():
    return [WIDTH]
