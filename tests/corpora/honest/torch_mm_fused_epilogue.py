# honest | family: hybrid | mechanism: torch.addmm by PyTorch, one kernel for gated epilogue and row normalisation
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(40, 2 * 52)

    def forward(self, x):
        a, g = self.up(x).chunk(2, dim=-1)
        h = a * nn.functional.gelu(g, approximate="tanh")
        return h / (h.abs().sum(-1, keepdim=True) + 1e-4)


def get_inputs():
    return [torch.randn(4, 11, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def geglu_l1(h_ptr, y_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < D
    a = tl.load(h_ptr + row * 2 * D + c, mask=m, other=0.0)
    g = tl.load(h_ptr + row * 2 * D + D + c, mask=m, other=0.0)
    inner = 0.7978845608028654 * (g + 0.044715 * g * g * g)
    h = a * 0.5 * g * (1.0 + libdevice.tanh(inner))
    tl.store(y_ptr + row * D + c, h / (tl.sum(tl.abs(h), axis=0) + 1e-4), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(40, 2 * 52)

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        h = torch.addmm(self.up.bias, flat, self.up.weight.t())
        y = torch.empty(flat.shape[0], 52, device=x.device, dtype=x.dtype)
        geglu_l1[(flat.shape[0],)](h, y, 52, BLOCK=64)
        return y.view(*x.shape[:-1], 52)
