# honest | family: in-place | mechanism: three kernels write into slices of one preallocated result (fused concatenation)
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.cat([x.sin(), torch.relu(y), x.square()], dim=1)


def get_inputs():
    return [torch.randn(33, 20), torch.randn(33, 50)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def apply_rows(src, dst, n_cols, src_stride, dst_stride, OP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < n_cols
    v = tl.load(src + row * src_stride + c, mask=m)
    if OP == "sin":
        v = tl.sin(v)
    elif OP == "relu":
        v = tl.maximum(v, 0.0)
    else:
        v = v * v
    tl.store(dst + row * dst_stride + c, v, mask=m)


class ModelNew(nn.Module):
    def forward(self, x, y):
        n, a, b = x.shape[0], x.shape[1], y.shape[1]
        out = torch.empty(n, 2 * a + b, device=x.device, dtype=x.dtype)
        parts = ((x, out[:, :a], "sin"), (y, out[:, a:a + b], "relu"), (x, out[:, a + b:], "square"))
        for src, dst, op in parts:
            apply_rows[(n,)](src, dst, src.size(1), src.stride(0), dst.stride(0), OP=op, BLOCK=64)
        return out
