# honest | family: language | mechanism: constexpr string tested with ==/or, Triton dtype passed from a torch-to-Triton table
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1, torch.sigmoid(x)


def get_inputs():
    return [torch.randn(21, 47, dtype=torch.float16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


TO_TL = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16, torch.float32: tl.float32}


@triton.jit
def unary(x_ptr, y_ptr, n, OP: tl.constexpr, OUT: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(OP == "relu1" or OP == "sigmoid", f"unknown operation {OP}")
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    y = (tl.maximum(x, 0.0) + 1.0) if OP == "relu1" else tl.sigmoid(x)
    tl.store(y_ptr + i, tl.cast(y, OUT), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        results = []
        for op in ("relu1", "sigmoid"):
            y = torch.empty_like(x)
            unary[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), OP=op, OUT=TO_TL[x.dtype], BLOCK=256)
            results.append(y)
        return tuple(results)
