# honest | family: losses | mechanism: binary cross entropy with logits and positive weights, single-block sum to a scalar
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("pos_weight", torch.rand(12) + 0.5)

    def forward(self, x, y):
        return nn.functional.binary_cross_entropy_with_logits(x, y, pos_weight=self.pos_weight, reduction="sum")


def get_inputs():
    return [torch.randn(40, 12), torch.rand(40, 12)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bce_sum(x_ptr, y_ptr, w_ptr, out_ptr, n, C, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        m = i < n
        x = tl.load(x_ptr + i, mask=m, other=0.0)
        y = tl.load(y_ptr + i, mask=m, other=0.0)
        w = tl.load(w_ptr + i % C, mask=m, other=1.0)
        soft = tl.log(1.0 + tl.exp(-tl.abs(x))) + tl.maximum(-x, 0.0)
        acc += tl.where(m, (1.0 - y) * x + (1.0 + (w - 1.0) * y) * soft, 0.0)
    tl.store(out_ptr, tl.sum(acc, axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("pos_weight", torch.rand(12) + 0.5)

    def forward(self, x, y):
        out = x.new_empty(())
        bce_sum[(1,)](x, y, self.pos_weight, out, x.numel(), x.shape[1], BLOCK=256)
        return out
