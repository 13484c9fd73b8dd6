# honest | family: host | mechanism: kernels called through a base class, super().forward for the common part, module list of submodules
# %% reference
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(d) + 0.5)

    def forward(self, x):
        return torch.sin(x * self.gain) + x


class Model(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(d) for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def get_inputs():
    return [torch.randn(22, 38)]


def get_init_inputs():
    return {"d": 38, "depth": 3}
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sin_gain(x_ptr, g_ptr, y_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < D
    x = tl.load(x_ptr + row * D + c, mask=m)
    tl.store(y_ptr + row * D + c, tl.sin(x * tl.load(g_ptr + c, mask=m)) + x, mask=m)


class TritonBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(d) + 0.5)

    def run(self, x):
        y = torch.empty_like(x)
        sin_gain[(x.shape[0],)](x, self.gain, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y


class SineBlock(TritonBlock):
    def forward(self, x):
        return super().run(x)


class ModelNew(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.blocks = nn.ModuleList(SineBlock(d) for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
