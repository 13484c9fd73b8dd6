# honest | family: reductions | mechanism: variable-length segments by cumulative offsets, loop bounds loaded in the kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, cu):
        t = torch.arange(x.shape[0], device=x.device)
        inside = (t[None, :] >= cu[:-1, None]) & (t[None, :] < cu[1:, None])
        w = inside.to(x.dtype)
        return (w @ x) / w.sum(1, keepdim=True).clamp(min=1)


def get_inputs():
    return [torch.randn(80, 18), torch.tensor([0, 7, 7, 30, 64, 80])]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def segment_mean(x_ptr, cu_ptr, y_ptr, D, BT: tl.constexpr, BD: tl.constexpr):
    s = tl.program_id(0)
    begin = tl.load(cu_ptr + s)
    end = tl.load(cu_ptr + s + 1)
    d = tl.arange(0, BD)
    acc = tl.zeros((BD,), tl.float32)
    for t0 in range(begin, end, BT):
        t = t0 + tl.arange(0, BT)
        x = tl.load(x_ptr + t[:, None] * D + d[None, :], mask=(t < end)[:, None] & (d < D)[None, :], other=0.0)
        acc += tl.sum(x, axis=0)
    n = tl.maximum(end - begin, 1).to(tl.float32)
    tl.store(y_ptr + s * D + d, acc / n, mask=d < D)


class ModelNew(nn.Module):
    def forward(self, x, cu):
        S = cu.shape[0] - 1
        y = torch.empty(S, x.shape[1], device=x.device, dtype=x.dtype)
        segment_mean[(S,)](x, cu, y, x.shape[1], BT=16, BD=32)
        return y
