# honest | family: hybrid | mechanism: F.linear and bmm by PyTorch, scale plus causal mask plus softmax in place by Triton
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(24, 72)

    def forward(self, x):
        q, k, v = self.qkv(x).split(24, dim=-1)
        att = q @ k.transpose(1, 2) / 24 ** 0.5
        T = x.shape[1]
        mask = torch.ones(T, T, device=x.device, dtype=torch.bool).tril()
        return att.masked_fill(~mask, float("-inf")).softmax(-1) @ v


def get_inputs():
    return [torch.randn(3, 21, 24)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_softmax_(a_ptr, T, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = row % T
    c = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * T + c, mask=c <= t, other=float("-inf")) * scale
    a = tl.exp(a - tl.max(a, axis=0))
    tl.store(a_ptr + row * T + c, a / tl.sum(a, axis=0), mask=c < T)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(24, 72)

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = torch.chunk(self.qkv(x), 3, dim=-1)
        att = torch.bmm(q, k.transpose(1, 2))
        causal_softmax_[(B * T,)](att, T, D ** -0.5, BLOCK=triton.next_power_of_2(T))
        return torch.bmm(att, v)
