# honest | family: precision | mechanism: uint8 codes with per-row scale and zero point, rounding by adding 0.5 and floor
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        lo = x.amin(dim=1, keepdim=True)
        hi = x.amax(dim=1, keepdim=True)
        scale = (hi - lo) / 255.0
        codes = torch.floor((x - lo) / scale + 0.5).clamp(0, 255).to(torch.uint8)
        return codes, codes.float() * scale + lo


def get_inputs():
    return [torch.randn(22, 50)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, code_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    x = tl.load(x_ptr + row * N + c, mask=m, other=0.0)
    lo = tl.min(tl.where(m, x, float("inf")), axis=0)
    hi = tl.max(tl.where(m, x, float("-inf")), axis=0)
    scale = tl.div_rn(hi - lo, 255.0)
    code = tl.floor(tl.div_rn(x - lo, scale) + 0.5)
    code = tl.minimum(tl.maximum(code, 0.0), 255.0).to(tl.uint8)
    tl.store(code_ptr + row * N + c, code, mask=m)
    tl.store(y_ptr + row * N + c, code.to(tl.float32) * scale + lo, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        codes = torch.empty_like(x, dtype=torch.uint8)
        y = torch.empty_like(x)
        quantise[(x.shape[0],)](x, codes, y, x.shape[1], BLOCK=64)
        return codes, y
