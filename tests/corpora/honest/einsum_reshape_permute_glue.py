# honest | family: hybrid | mechanism: PyTorch reshapes and permutes around a Triton softmax over the last axis, einsum afterwards
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, scores, values):
        w = torch.softmax(scores, dim=1)
        return torch.einsum("bjh,bjd->bhd", w, values)


def get_inputs():
    return [torch.randn(4, 30, 5), torch.randn(4, 30, 16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_last(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * N + c, tl.fdiv(e, tl.sum(e, 0)), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, scores, values):
        s = scores.permute(0, 2, 1).contiguous()
        w = torch.empty_like(s)
        softmax_last[(s.shape[0] * s.shape[1],)](s, w, s.shape[2], BLOCK=32)
        return torch.matmul(w, values)
