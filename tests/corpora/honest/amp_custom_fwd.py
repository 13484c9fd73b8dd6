# honest | family: host | mechanism: autograd.Function with torch.amp.custom_fwd, autocast disabled inside forward
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * x.sigmoid().square()


def get_inputs():
    return [torch.randn(23, 23)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    s = tl.sigmoid(x)
    tl.store(y_ptr + i, x * s * s, mask=i < n)


class Op(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        ctx.mark_non_differentiable(y)
        return y


class ModelNew(nn.Module):
    def forward(self, x):
        with torch.autocast("cuda", enabled=False):
            return Op.apply(x)
