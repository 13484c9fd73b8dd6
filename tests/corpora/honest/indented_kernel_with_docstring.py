# honest | family: language | mechanism: kernels indented in a class and a function, with docstrings, comments and continued lines
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.sqrt(x * x + y * y), torch.atan2(y, x).cos()


def get_inputs():
    return [torch.randn(27, 41), torch.randn(27, 41)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


def make_length():
    @triton.jit
    def length(x, y):
        """The length of (x, y).

            Indented text, which dedenting
        changes.
        """
        # a comment before the end
        return tl.sqrt(x * x
                       + y * y)
        # and one behind it

    return length


length = make_length()


class Kernels:
    """Kernels that belong together."""

    if True:

        @staticmethod
        @triton.jit
        def polar(x_ptr, y_ptr, r_ptr, c_ptr, n,
                  BLOCK: tl.constexpr):
            '''Radius and cosine.
               No angle.'''
            i = tl.program_id(0) * BLOCK \
                + tl.arange(0, BLOCK)
            tl.static_assert(BLOCK > 1, """a block
                of one""")
            x = tl.load(x_ptr + i, mask=i < n, other=1.0)
            y = tl.load(y_ptr + i, mask=i < n, other=1.0)
            r = length(x, y)
            tl.store(r_ptr + i, r, mask=i < n)
            tl.store(c_ptr + i, tl.where(r == 0, 1.0, x / r), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, y):
        r, c = torch.empty_like(x), torch.empty_like(x)
        n = x.numel()
        Kernels.polar[(triton.cdiv(n, 256),)](x, y, r, c, n, BLOCK=256)
        return r, c
