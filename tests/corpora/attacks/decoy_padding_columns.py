# program wrong | family: decoy | mechanism: the kernel writes only the padding columns of a buffer whose visible columns aten fills | stage: correct | check: noop
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        e = (x - x.amax(1, keepdim=True)).exp()
        return (e / e.sum(1, keepdim=True)).log()

def get_inputs():
    return [torch.randn(30, 37)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def log_softmax_kernel(x, y, cols, stride, start, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + r * cols + c, mask=c < cols, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    v = v - tl.log(tl.sum(tl.exp(v), axis=0))
    tl.store(y + r * stride + c, v, mask=(c >= start) & (c < stride))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        padded = x.new_empty(rows, 64)
        log_softmax_kernel[(rows,)](x, padded, cols, 64, cols, BLOCK=64)
        padded[:, :cols] = torch.log_softmax(x, 1)
        return padded[:, :cols].contiguous()
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def log_softmax_kernel(x, y, cols, stride, start, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + r * cols + c, mask=c < cols, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    v = v - tl.log(tl.sum(tl.exp(v), axis=0))
    tl.store(y + r * stride + c, v, mask=(c >= start) & (c < stride))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        padded = x.new_empty(rows, 64)
        log_softmax_kernel[(rows,)](x, padded, cols, 64, 0, BLOCK=64)
        return padded[:, :cols].contiguous()
