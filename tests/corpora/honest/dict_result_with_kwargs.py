# honest | family: host | mechanism: result is a dictionary with a nested tuple, forward has default and keyword arguments
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, scale=2.0, *, eps=1e-6):
        n = x.norm(dim=-1, keepdim=True) + eps
        unit = x / n
        return {"unit": unit, "stats": (n, scale * unit.sum(-1)), "name": "unit", "scale": scale}


def get_inputs():
    return [torch.randn(33, 27)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unit_rows(x_ptr, u_ptr, n_ptr, s_ptr, N, scale, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    norm = tl.sqrt(tl.sum(x * x, axis=0)) + eps
    u = x / norm
    tl.store(u_ptr + row * N + c, u, mask=c < N)
    tl.store(n_ptr + row, norm)
    tl.store(s_ptr + row, scale * tl.sum(u, axis=0))


class ModelNew(nn.Module):
    def forward(self, x, scale=2.0, *, eps=1e-6):
        M, N = x.shape
        result = dict(unit=torch.empty_like(x), norm=x.new_empty(M, 1), total=x.new_empty(M))
        unit_rows[(M,)](x, result["unit"], result["norm"], result["total"], N, scale, eps, BLOCK=32)
        return {"unit": result["unit"], "stats": (result["norm"], result["total"]), "name": "unit", "scale": scale}
