# honest | family: host | mechanism: result is a dataclass defined in both files, constants made with torch.tensor in forward
# %% reference
import torch
import torch.nn as nn


from dataclasses import dataclass


@dataclass
class Stats:
    mean: torch.Tensor
    scaled: torch.Tensor


class Model(nn.Module):
    def forward(self, x):
        w = torch.tensor([0.5, 0.3, 0.2], device=x.device)
        return Stats(mean=x.mean(-1), scaled=x * w)


def get_inputs():
    return [torch.randn(200, 3)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from dataclasses import dataclass


@dataclass
class Stats:
    mean: torch.Tensor
    scaled: torch.Tensor


@triton.jit
def three(x_ptr, w_ptr, m_ptr, s_ptr, M, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.arange(0, 4)
    mask = (r[:, None] < M) & (c[None, :] < 3)
    x = tl.load(x_ptr + r[:, None] * 3 + c[None, :], mask=mask, other=0.0)
    w = tl.load(w_ptr + c, mask=c < 3, other=0.0)
    tl.store(m_ptr + r, tl.sum(x, axis=1) / 3, mask=r < M)
    tl.store(s_ptr + r[:, None] * 3 + c[None, :], x * w[None, :], mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        w = torch.tensor([0.5, 0.3, 0.2], device=x.device)
        mean, scaled = x.new_empty(x.shape[0]), torch.empty_like(x)
        three[(triton.cdiv(x.shape[0], 32),)](x, w, mean, scaled, x.shape[0], B=32)
        return Stats(mean, scaled)
