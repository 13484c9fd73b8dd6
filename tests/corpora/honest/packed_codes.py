# honest | family: precision | mechanism: two codes packed into one integer, of numbers rounded beside ties in another way
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(dim=1, keepdim=True) / 127.0
        code = torch.round(x / scale).clamp(-127, 127).to(torch.int32) + 128
        return code[:, 0::2] | (code[:, 1::2] << 8), scale


def get_inputs():
    return [torch.randn(256, 1024)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def pack(x_ptr, code_ptr, scale_ptr, HALF: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, HALF)
    even = tl.load(x_ptr + row * 2 * HALF + 2 * c)
    odd = tl.load(x_ptr + row * 2 * HALF + 2 * c + 1)
    most = tl.max(tl.maximum(tl.abs(even), tl.abs(odd)), axis=0)
    inverse = 127.0 / most
    low = libdevice.rint(even * inverse).to(tl.int32) + 128
    high = libdevice.rint(odd * inverse).to(tl.int32) + 128
    tl.store(code_ptr + row * HALF + c, low | (high << 8))
    tl.store(scale_ptr + row, most / 127.0)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        code = torch.empty(rows, columns // 2, device=x.device, dtype=torch.int32)
        scale = torch.empty(rows, 1, device=x.device)
        pack[(rows,)](x, code, scale, HALF=columns // 2)
        return code, scale
