# honest | family: host | mechanism: named tuple as result, type shared in form only
# %% reference
import torch
import torch.nn as nn


from typing import NamedTuple


class Output(NamedTuple):
    logits: torch.Tensor
    hidden: torch.Tensor


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(30, 8)

    def forward(self, x):
        h = torch.relu(x) ** 2
        return Output(logits=self.fc(h), hidden=h)


def get_inputs():
    return [torch.randn(40, 30)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from collections import namedtuple

Output = namedtuple("Output", ["logits", "hidden"])


@triton.jit
def relu2(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.maximum(tl.load(x_ptr + i, mask=i < n), 0.0)
    tl.store(y_ptr + i, x * x, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(30, 8)

    def forward(self, x):
        h = torch.empty_like(x)
        relu2[(triton.cdiv(x.numel(), 256),)](x, h, x.numel(), BLOCK=256)
        return Output(self.fc(h), h)
