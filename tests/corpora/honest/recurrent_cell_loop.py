# honest | family: several-kernels | mechanism: one launch for each time step of a recurrence, hidden state buffer carried between launches
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(40) * 0.5 + 0.3)

    def forward(self, x):
        h = torch.zeros_like(x[:, 0])
        outs = []
        for t in range(x.shape[1]):
            h = torch.tanh(self.decay * h + x[:, t])
            outs.append(h)
        return torch.stack(outs, dim=1), h


def get_inputs():
    return [torch.randn(7, 6, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra.cuda import libdevice


@triton.jit
def cell(x_ptr, h_ptr, a_ptr, out_ptr, t, T, D, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    m = d < D
    h = tl.load(h_ptr + b * D + d, mask=m, other=0.0)
    x = tl.load(x_ptr + (b * T + t) * D + d, mask=m, other=0.0)
    a = tl.load(a_ptr + d, mask=m, other=0.0)
    h = libdevice.tanh(a * h + x)
    tl.store(h_ptr + b * D + d, h, mask=m)
    tl.store(out_ptr + (b * T + t) * D + d, h, mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(40) * 0.5 + 0.3)

    def forward(self, x):
        B, T, D = x.shape
        h = torch.zeros(B, D, device=x.device)
        out = torch.empty_like(x)
        for t in range(T):
            cell[(B,)](x, h, self.decay, out, t, T, D, BLOCK=64)
        return out, h
