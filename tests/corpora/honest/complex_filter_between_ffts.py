# honest | family: complex | mechanism: a learned filter between Fourier transforms, which stay PyTorch's calls
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Parameter(torch.randn(16, 129, dtype=torch.cfloat) * 0.02)

    def forward(self, x):
        f = torch.fft.rfft(x, norm="ortho")
        return torch.fft.irfft(f * self.filter.conj(), n=256, norm="ortho")


def get_inputs():
    return [torch.randn(64, 16, 256)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def filtered(f_ptr, w_ptr, n, per_row, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside, k = i < n, i % per_row
    a, b = tl.load(f_ptr + 2 * i, mask=inside, other=0.0), tl.load(f_ptr + 2 * i + 1, mask=inside, other=0.0)
    c, s = tl.load(w_ptr + 2 * k), -tl.load(w_ptr + 2 * k + 1)
    tl.store(f_ptr + 2 * i, a * c - b * s, mask=inside)
    tl.store(f_ptr + 2 * i + 1, a * s + b * c, mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Parameter(torch.randn(16, 129, dtype=torch.cfloat) * 0.02)

    def forward(self, x):
        f = torch.fft.rfft(x, norm="ortho")
        parts, n = torch.view_as_real(f), f.numel()
        filtered[(triton.cdiv(n, 1024),)](parts, torch.view_as_real(self.filter.detach()), n, 16 * 129, BLOCK=1024)
        return torch.fft.irfft(f, n=256, norm="ortho")
