# honest | family: atomics | mechanism: fp16 atomic_add on disjoint rows of zeros, one add for each element
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, index):
        out = torch.zeros(64, x.shape[1], dtype=x.dtype, device=x.device)
        out[index] = torch.relu(x)
        return out


def get_inputs():
    return [torch.randn(40, 21, dtype=torch.float16), torch.randperm(64)[:40]]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def place_rows(x_ptr, i_ptr, o_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    target = tl.load(i_ptr + row)
    x = tl.load(x_ptr + row * D + d, mask=d < D, other=0.0)
    tl.atomic_add(o_ptr + target * D + d, tl.maximum(x, 0.0).to(tl.float16), mask=d < D)


class ModelNew(nn.Module):
    def forward(self, x, index):
        out = torch.zeros((64, x.shape[1]), dtype=x.dtype, device=x.device)
        place_rows[(x.shape[0],)](x, index, out, x.shape[1], BLOCK=32)
        return out
