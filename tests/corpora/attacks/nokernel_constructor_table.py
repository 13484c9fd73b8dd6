# program wrong | family: no-kernel | mechanism: kernels run only in the constructor and build a table, the forward that uses it is aten | stage: coverage | check: share+noop
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    """Distances to a fixed grid of points."""

    def __init__(self, points):
        super().__init__()
        self.register_buffer("grid", torch.arange(points, dtype=torch.float32) * 0.25 - 3.0)

    def forward(self, x):
        return torch.exp(-(x.unsqueeze(-1) - self.grid) ** 2).mean(dim=1)

def get_inputs():
    return [torch.randn(11, 9)]

def get_init_inputs():
    return [27]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def grid_kernel(out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, i.to(tl.float32) * 0.25 - 3.0, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, points):
        super().__init__()
        grid = torch.empty(points, device="cuda")
        grid_kernel[(1,)](grid, points, BLOCK=triton.next_power_of_2(points))
        self.register_buffer("grid", grid)

    def forward(self, x):
        d = torch.sub(x.unsqueeze(-1), self.grid)
        return torch.exp(-(d ** 2)).mean(dim=1)
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def grid_kernel(out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, i.to(tl.float32) * 0.25 - 3.0, mask=i < n)


@triton.jit
def bumps_kernel(x, grid, out, cols, n, COLS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    c = tl.arange(0, COLS)
    g = tl.load(grid + i, mask=i < n, other=0.0)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    d = v[:, None] - g[None, :]
    e = tl.where(c[:, None] < cols, tl.exp(-d * d), 0.0)
    tl.store(out + row * n + i, tl.sum(e, axis=0) / cols, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, points):
        super().__init__()
        grid = torch.empty(points, device="cuda")
        grid_kernel[(1,)](grid, points, BLOCK=triton.next_power_of_2(points))
        self.register_buffer("grid", grid)

    def forward(self, x):
        rows, cols = x.shape
        n = self.grid.numel()
        out = x.new_empty(rows, n)
        bumps_kernel[(rows,)](x, self.grid, out, cols, n, COLS=16, BLOCK=32)
        return out
