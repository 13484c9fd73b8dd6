import torch
import torch.nn.functional as F
from torch import rand, randint, randn


class topk_softmax:
    def inputs():
        return [randn(20, 16)]

    def reference(self, x):
        weights, at = x.topk(4, -1)
        return weights.softmax(-1), at.int()

    def library(self, x):
        from moe_ops.fused_topk_softmax_ops import fused_topk_softmax
        weights, at = fused_topk_softmax(x, 4)
        return weights, at.int()


class grouped_gemm:
    def inputs():
        return [randn(48, 32, dtype=torch.float16), randn(3, 40, 32, dtype=torch.float16)]

    def reference(self, x, w):
        return torch.cat((x[:10] @ w[0].t(), x[10:30] @ w[1].t(), x[30:] @ w[2].t()))

    def library(self, x, w):
        from moe_ops.grouped_gemm_ops import grouped_gemm
        return grouped_gemm(x, w, torch.tensor([0, 10, 30, 48], device=x.device))


class permute:
    def inputs():
        return [randn(10, 48), randint(0, 4, (10, 2), dtype=torch.int32), rand(10, 2)]

    def reference(self, x, at, weights):
        return x * weights.sum(1, keepdim=True)

    def library(self, x, at, weights):
        from moe_ops.permute_ops import permute
        from moe_ops.unpermute_ops import unpermute
        rows, places, _ = permute(x, at, 0, 4)  # the rows of an expert come in any order
        return unpermute(rows, places, weights, 10, 2)


class unpermute:
    def inputs():
        return [randn(20, 48), randn(20).argsort().to(torch.int32), rand(10, 2)]

    def reference(self, x, rows, weights):
        return (x[rows.long()].view(2, 10, 48) * weights.t()[..., None]).sum(0)

    def library(self, x, rows, weights):
        from moe_ops.unpermute_ops import unpermute
        return unpermute(x, rows, weights, 10, 2)
