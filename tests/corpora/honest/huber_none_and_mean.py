# honest | family: losses | mechanism: Huber loss, unreduced and mean, branch by tl.where on the absolute error
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, delta):
        super().__init__()
        self.loss = nn.HuberLoss(reduction="none", delta=delta)

    def forward(self, x, y):
        per = self.loss(x, y)
        return per, per.mean(dim=1)


def get_inputs():
    return [torch.randn(31, 45), torch.randn(31, 45)]


def get_init_inputs():
    return [0.7]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def huber(x_ptr, y_ptr, per_ptr, mean_ptr, N, delta, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    e = tl.abs(tl.load(x_ptr + row * N + c, mask=m, other=0.0) - tl.load(y_ptr + row * N + c, mask=m, other=0.0))
    loss = tl.where(e <= delta, 0.5 * e * e, delta * (e - 0.5 * delta))
    tl.store(per_ptr + row * N + c, loss, mask=m)
    tl.store(mean_ptr + row, tl.sum(loss, axis=0) / N)


class ModelNew(nn.Module):
    def __init__(self, delta):
        super().__init__()
        self.delta = delta

    def forward(self, x, y):
        per = torch.empty_like(x)
        mean = torch.empty(x.shape[0], device=x.device)
        huber[(x.shape[0],)](x, y, per, mean, x.shape[1], self.delta, BLOCK=64)
        return per, mean
