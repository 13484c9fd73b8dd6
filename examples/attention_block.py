"""A pre-norm attention block. PyTorch's attention stays; what surrounds it is fused."""

# small: BATCH=2 LENGTH=128 WIDTH=64

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
LENGTH = 1024
WIDTH = 512
HEADS = 8


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.gate = nn.Parameter(torch.full((width,), 0.5))
        self.norm_out = nn.LayerNorm(width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm(x))
        q, k, v = qkv.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, length, width)
        return self.norm_out(x + self.gate * self.out(y))


def get_inputs():
    return [torch.randn(BATCH, LENGTH, WIDTH)]


def get_init_inputs():
    return [WIDTH, HEADS]
