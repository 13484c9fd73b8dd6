# honest | family: persistent | mechanism: grid of fixed size, each program walks a contiguous span of rows known from integer division
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(48))

    def forward(self, x):
        return nn.functional.rms_norm(x, (48,), self.weight, eps=1e-5)


def get_inputs():
    return [torch.randn(101, 48)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_span(x_ptr, w_ptr, y_ptr, M, N, eps, rows_per_program, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + c, mask=c < N, other=0.0)
    first = pid * rows_per_program
    last = min(first + rows_per_program, M)
    x_ptr += first * N
    y_ptr += first * N
    for _ in range(first, last):
        x = tl.load(x_ptr + c, mask=c < N, other=0.0)
        tl.store(y_ptr + c, x * tl.rsqrt(tl.sum(x * x, 0) / N + eps) * w, mask=c < N)
        x_ptr += N
        y_ptr += N


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(48))

    def forward(self, x):
        M, N = x.shape
        sm_count = torch.cuda.get_device_properties(0).multi_processor_count
        rows = max(1, triton.cdiv(M, min(sm_count, 24)))
        y = torch.empty_like(x)
        rms_span[(triton.cdiv(M, rows),)](x, self.weight, y, M, N, 1e-5, rows, BLOCK=64)
        return y
