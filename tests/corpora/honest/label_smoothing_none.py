# honest | family: losses | mechanism: label smoothing cross entropy without reduction, target column found by comparison
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, t):
        return nn.functional.cross_entropy(x, t, label_smoothing=0.1, reduction="none")


def get_inputs():
    return [torch.randn(39, 25), torch.randint(0, 25, (39,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def smooth_ce(x_ptr, t_ptr, o_ptr, C, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < C
    x = tl.load(x_ptr + row * C + c, mask=m, other=float("-inf"))
    t = tl.load(t_ptr + row).to(tl.int32)
    top = tl.max(x, 0)
    lse = tl.log(tl.sum(tl.exp(x - top), 0)) + top
    picked = tl.sum(tl.where(c == t, x, 0.0), 0)
    mean = tl.sum(tl.where(m, x, 0.0), 0) / C
    loss = lse - (1.0 - eps) * picked - eps * mean
    tl.store(o_ptr + row, tl.where(t == -100, 0.0, loss))


class ModelNew(nn.Module):
    def forward(self, x, t):
        out = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
        smooth_ce[(x.shape[0],)](x, t, out, x.shape[1], 0.1, BLOCK=32)
        return out
