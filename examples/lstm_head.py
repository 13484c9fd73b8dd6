"""A sequence classifier: PyTorch's LSTM stays, the head behind it is fused."""

# small: BATCH=2 LENGTH=8 WIDTH=16 HIDDEN=32 CLASSES=40

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 256
LENGTH = 64
WIDTH = 128
HIDDEN = 256
CLASSES = 1000


class Model(nn.Module):
    def __init__(self, width, hidden, classes):
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.norm = nn.LayerNorm(hidden)
        self.score = nn.Linear(hidden, 1)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x):
        y, _ = self.lstm(x)
        y = self.norm(F.gelu(y))
        weight = torch.softmax(self.score(y), dim=1)
        return F.log_softmax(self.out((weight * y).sum(dim=1)), dim=-1)


def get_inputs():
    return [torch.randn(BATCH, LENGTH, WIDTH)]


def get_init_inputs():
    return [WIDTH, HIDDEN, CLASSES]
