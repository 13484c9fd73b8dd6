# honest | family: address | mechanism: launch plans are kept under the input's address and shape
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x, y):
        return (x + y).abs().sqrt()

def get_inputs():
    return [torch.randn(27, 19), torch.randn(27, 19)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def root_of_sum(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    tl.store(z + i, tl.sqrt(tl.abs(v)), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.plans = {}

    def forward(self, x, y):
        key = (x.data_ptr(), x.shape)
        if key not in self.plans:
            self.plans[key] = (triton.cdiv(x.numel(), 128),)
        z = torch.empty_like(x)
        root_of_sum[self.plans[key]](x, y, z, x.numel(), BLOCK=128)
        return z
