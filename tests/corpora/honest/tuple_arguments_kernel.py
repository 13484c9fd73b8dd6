# honest | family: language | mechanism: tensors passed to the kernel as a tuple and unpacked with static_range
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b, c):
        return 0.5 * a.cos() + 0.25 * b.cos() + 0.125 * c.cos()


def get_inputs():
    return [torch.randn(700), torch.randn(700), torch.randn(700)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weighted(xs, weights, y_ptr, n, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(COUNT):
        acc += weights[k] * tl.cos(tl.load(xs[k] + i, mask=i < n, other=0.0))
    tl.store(y_ptr + i, acc, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, a, b, c):
        y = torch.empty_like(a)
        weighted[(triton.cdiv(700, 128),)]((a, b, c), (0.5, 0.25, 0.125), y, 700, COUNT=3, BLOCK=128)
        return y
