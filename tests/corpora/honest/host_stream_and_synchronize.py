# honest | family: host | mechanism: current stream asked for, device synchronised after the launch, nvtx range and record_function around it
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.hardsigmoid(x)


def get_inputs():
    return [torch.randn(800)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hard_sigmoid(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.clamp(x / 6.0 + 0.5, 0.0, 1.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        stream = torch.cuda.current_stream(x.device)
        torch.cuda.nvtx.range_push("hard_sigmoid")
        with torch.profiler.record_function("hard_sigmoid"):
            hard_sigmoid[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        torch.cuda.nvtx.range_pop()
        stream.synchronize()
        return y
