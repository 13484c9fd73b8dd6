# honest | family: autotune | mechanism: in-place update of a scratch tensor with restore_value
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.addcmul(x, y, y, value=0.5)


def get_inputs():
    return [torch.randn(55, 29), torch.randn(55, 29)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"B": 64}), triton.Config({"B": 512})],
    key=["n"], restore_value=["acc_ptr"],
)
@triton.jit
def add_square_(acc_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a = tl.load(acc_ptr + i, mask=m)
    y = tl.load(y_ptr + i, mask=m)
    tl.store(acc_ptr + i, a + 0.5 * y * y, mask=m)


class ModelNew(nn.Module):
    def forward(self, x, y):
        acc = x.clone()
        n = acc.numel()
        add_square_[lambda META: (triton.cdiv(n, META["B"]),)](acc, y, n)
        return acc
