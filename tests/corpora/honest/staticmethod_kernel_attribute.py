# honest | family: host | mechanism: kernel defined in the class body as a staticmethod
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.hypot(x, y) - torch.logaddexp(x, y)


def get_inputs():
    return [torch.randn(400), torch.randn(400)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    BLOCK = 128

    @staticmethod
    @triton.jit
    def _kernel(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        m = i < n
        x = tl.load(x_ptr + i, mask=m, other=1.0)
        y = tl.load(y_ptr + i, mask=m, other=1.0)
        top = tl.maximum(x, y)
        lae = top + tl.log(1.0 + tl.exp(tl.minimum(x, y) - top))
        tl.store(o_ptr + i, tl.sqrt(x * x + y * y) - lae, mask=m)

    def forward(self, x, y):
        out = torch.empty_like(x)
        n = out.numel()
        self._kernel[(triton.cdiv(n, self.BLOCK),)](x, y, out, n, BLOCK=self.BLOCK)
        return out
