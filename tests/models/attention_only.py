"""Attention alone: PyTorch's own kernel is as good as it gets."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)


def get_inputs():
    return [torch.randn(2, 4, 16, 8) for _ in range(3)]


def get_init_inputs():
    return []
