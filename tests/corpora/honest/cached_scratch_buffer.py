# honest | family: host | mechanism: scratch buffer allocated on the first call, kept on the module, overwritten by every call
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.abs().amax() - x.mean()


def get_inputs():
    return [torch.randn(40, 51)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def stage_one(x_ptr, part_ptr, n, parts, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(part_ptr + pid, tl.max(tl.abs(x)))
    tl.store(part_ptr + parts + pid, tl.sum(x))


@triton.jit
def stage_two(part_ptr, out_ptr, n, parts, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    top = tl.load(part_ptr + i, mask=i < parts, other=0.0)
    s = tl.load(part_ptr + parts + i, mask=i < parts, other=0.0)
    tl.store(out_ptr, tl.max(top) - tl.sum(s) / n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self._scratch = {}

    def _workspace(self, parts, device):
        key = (parts, str(device))
        if key not in self._scratch:
            self._scratch[key] = torch.empty(2 * parts, device=device, dtype=torch.float32)
        return self._scratch[key]

    def forward(self, x):
        n = x.numel()
        parts = triton.cdiv(n, 256)
        work = self._workspace(parts, x.device)
        out = torch.empty((), device=x.device)
        stage_one[(parts,)](x, work, n, parts, BLOCK=256)
        stage_two[(1,)](work, out, n, parts, BLOCK=16)
        return out
