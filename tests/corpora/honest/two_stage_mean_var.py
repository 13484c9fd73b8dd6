# honest | family: several-kernels | mechanism: two-stage reduction, partial sums in one scratch buffer cut into two halves by views
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return (x - x.mean()) / (x.std(unbiased=False) + 1e-3)


def get_inputs():
    return [torch.randn(53, 71)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_moments(x_ptr, s_ptr, q_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(s_ptr + pid, tl.sum(x))
    tl.store(q_ptr + pid, tl.sum(x * x))


@triton.jit
def normalize(x_ptr, s_ptr, q_ptr, y_ptr, n, parts, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    p = tl.arange(0, PARTS)
    mean = tl.sum(tl.load(s_ptr + p, mask=p < parts, other=0.0)) / n
    var = tl.sum(tl.load(q_ptr + p, mask=p < parts, other=0.0)) / n - mean * mean
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, (x - mean) / (tl.sqrt(var) + 1e-3), mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        BLOCK = 512
        parts = triton.cdiv(n, BLOCK)
        scratch = torch.empty(2, parts, device=x.device, dtype=torch.float32)
        y = torch.empty_like(x)
        partial_moments[(parts,)](x, scratch[0], scratch[1], n, BLOCK=BLOCK)
        normalize[(parts,)](x, scratch[0], scratch[1], y, n, parts, BLOCK=BLOCK,
                            PARTS=triton.next_power_of_2(parts))
        return y
