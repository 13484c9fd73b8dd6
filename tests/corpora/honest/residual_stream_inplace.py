# honest | family: in-place | mechanism: residual stream cloned once and updated in place by two blocks
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(48, 48)
        self.b = nn.Linear(48, 48)

    def forward(self, x):
        x = x + torch.tanh(self.a(x))
        return x + torch.tanh(self.b(x))


def get_inputs():
    return [torch.randn(35, 48)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice as ld


@triton.jit
def add_tanh_(res, upd, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(res + i, tl.load(res + i, mask=m) + ld.tanh(tl.load(upd + i, mask=m)), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(48, 48)
        self.b = nn.Linear(48, 48)

    def forward(self, x):
        stream = x.clone()
        for layer in (self.a, self.b):
            update = layer(stream)
            add_tanh_[(triton.cdiv(stream.numel(), 512),)](stream, update, stream.numel(), BLOCK=512)
        return stream
