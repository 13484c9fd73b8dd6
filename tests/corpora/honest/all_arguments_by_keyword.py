# honest | family: host | mechanism: every kernel argument by keyword, do_not_specialize and num_ctas, options beside them
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.fmod(x, 1.5) + torch.floor(y)


def get_inputs():
    return [torch.randn(521), torch.randn(521)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit(do_not_specialize=["n_elements"])
def fmod_floor(x_ptr, y_ptr, out_ptr, n_elements, divisor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n_elements
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    r = libdevice.fmod(x, divisor)
    tl.store(out_ptr + i, r + tl.floor(tl.load(y_ptr + i, mask=m, other=0.0)), mask=m)


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        kwargs = dict(x_ptr=x, y_ptr=y, out_ptr=out, n_elements=out.numel(), divisor=1.5, BLOCK=128)
        fmod_floor[(triton.cdiv(out.numel(), 128),)](**kwargs, num_warps=2, num_stages=1, num_ctas=1)
        return out
