# honest | family: precision | mechanism: boolean mask input loaded as int1, masked mean
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, mask):
        w = mask.to(x.dtype).unsqueeze(-1)
        return (x * w).sum(1) / w.sum(1).clamp(min=1)


def get_inputs():
    return [torch.randn(6, 23, 20), torch.rand(6, 23) > 0.4]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_mean(x_ptr, mask_ptr, y_ptr, T, D, BT: tl.constexpr, BD: tl.constexpr):
    b = tl.program_id(0)
    t = tl.arange(0, BT)
    d = tl.arange(0, BD)
    keep = tl.load(mask_ptr + b * T + t, mask=t < T, other=0).to(tl.int1)
    x = tl.load(x_ptr + (b * T + t[:, None]) * D + d[None, :], mask=keep[:, None] & (t[:, None] < T) & (d[None, :] < D), other=0.0)
    count = tl.maximum(tl.sum(keep.to(tl.int32), axis=0), 1)
    tl.store(y_ptr + b * D + d, tl.sum(x, axis=0) / count.to(tl.float32), mask=d < D)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        B, T, D = x.shape
        y = torch.empty(B, D, device=x.device, dtype=x.dtype)
        masked_mean[(B,)](x, mask, y, T, D, BT=32, BD=32)
        return y
