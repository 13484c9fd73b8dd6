"""One large bfloat16 product. The library's kernel is at the hardware's limit: nothing to gain."""

# small: SIZE=64

import torch
import torch.nn as nn

SIZE = 8192


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(SIZE, SIZE, dtype=torch.bfloat16) for _ in range(2)]


def get_init_inputs():
    return []
