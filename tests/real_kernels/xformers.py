import torch
import torch.nn.functional as F
from torch import rand, randint, randn


class rms_norm:
    def inputs():
        return [randn(6, 96), randn(96)]

    def reference(self, x, w):
        return F.rms_norm(x, (96,), w, 1e-6)

    def library(self, x, w):
        from xformers.ops.rmsnorm import rms_norm
        return rms_norm(x, w, 1e-6)


class index_select_cat:
    def inputs():
        return [randn(20, 48), randint(0, 20, (8,))]

    def reference(self, x, at):
        return x[at]

    def library(self, x, at):
        from xformers.ops._triton.k_index_select_cat import index_select_cat_fwd
        return index_select_cat_fwd(torch.empty(8, 48, device=x.device), x, at)


class scaled_index_add:
    def inputs():
        return [randn(8, 5, 48), torch.tensor([6, 1, 3]), randn(3, 5, 48), randn(48)]

    def reference(self, x, at, source, scaling):
        return x.index_add(0, at, source * scaling, alpha=0.5)

    def library(self, x, at, source, scaling):
        from xformers.ops._triton.k_scaled_index_add import scaled_index_add_fwd
        x = x.clone()
        scaled_index_add_fwd(x, at, source, scaling, 0.5)
        return x


class tiled_matmul:
    def inputs():
        return [randn(24, 40, dtype=torch.float16), randn(16, 40, dtype=torch.float16),
                randn(40, 32, dtype=torch.float16)]

    def reference(self, a, b, c):
        return a @ c, b @ c

    def library(self, a, b, c):
        from xformers.ops._triton.tiled_matmul_kernels import _launch_triton_matmul
        out = [[torch.empty(24, 32, dtype=a.dtype, device=a.device)],
               [torch.empty(16, 32, dtype=a.dtype, device=a.device)]]
        _launch_triton_matmul([[a], [b]], [[c]], out, [24, 16], [32], [40])
        return out[0][0], out[1][0]
