"""A linear layer with a long pointwise tail, as classifiers and gating networks have."""

# small: BATCH=64 FEATURES=128 OUTPUTS=256

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2048
FEATURES = 1024
OUTPUTS = 4096


class Model(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.linear = nn.Linear(features, outputs)
        self.scale = nn.Parameter(torch.rand(outputs) + 0.5)
        self.shift = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        y = self.linear(x)
        y = F.gelu(y) * self.scale + self.shift
        y = torch.clamp(y, -4.0, 4.0)
        y = y * torch.sigmoid(1.7 * y)
        return F.hardtanh(y / 2.0) + 0.1 * torch.tanh(y)


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES, OUTPUTS]
