import torch
import torch.nn.functional as F
from torch import rand, randint, randn


class lse:
    def inputs():
        return [randn(24, 16), randn(40, 16), randn(40)]

    def reference(self, x, y, bias):
        return -0.5 * (2.0 * (x @ y.t()) / 0.5 + bias).logsumexp(-1)

    def library(self, x, y, bias):
        from flash_sinkhorn.kernels.sinkhorn_flashstyle_sqeuclid import flashsinkhorn_lse
        return flashsinkhorn_lse(x, y, bias, 0.5, allow_tf32=False)


class c_transform:
    def inputs():
        return [randn(24, 16), randn(40, 16), randn(40)]

    def reference(self, x, y, bias):
        return (bias - 2.0 * (x @ y.t())).min(-1)

    def library(self, x, y, bias):
        from flash_sinkhorn.kernels.c_transform_sqeuclid import c_transform_kernel
        return c_transform_kernel(x, y, bias, allow_tf32=False)


class plan_times_vector:
    def inputs():
        return [randn(24, 16), randn(40, 16), randn(24), randn(40), randn(40)]

    def reference(self, x, y, f, g, vector):
        cost = x.square().sum(-1)[:, None] + y.square().sum(-1) - 2.0 * (x @ y.t())
        return ((f[:, None] + g - cost) / 0.5).exp() @ vector

    def library(self, x, y, f, g, vector):
        from flash_sinkhorn.kernels.apply_ott import apply_plan_vec_sqeuclid
        return apply_plan_vec_sqeuclid(x, y, f, g, vector, eps=0.5, axis=1)
