import torch
import torch.nn.functional as F
from torch import rand, randint, randn


def half(*shape):
    return randn(*shape, dtype=torch.float16)


class large_head_attention:
    def inputs():
        return [half(1, 4, 40, 64), half(1, 2, 40, 64), half(1, 2, 40, 64)]

    def reference(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    def library(self, q, k, v):
        from unsloth.kernels.large_head_attention import _dense_intervals, large_head_attention
        first, last = _dense_intervals(1, 40, True, q.device)
        return large_head_attention(q, k, v, first, last).transpose(1, 2)


class dequantize_nf4:
    def inputs():
        return [randint(0, 256, (128,), dtype=torch.uint8), rand(4), randn(16)]

    def reference(self, x, scale, table):
        codes = torch.stack((x >> 4, x & 15), -1).view(4, 64).long()
        return (table[codes] * scale[:, None]).view(8, 32)

    def library(self, x, scale, table):
        from unsloth.kernels.nf4 import dequantize_nf4
        return dequantize_nf4(x, scale, None, None, None, table, 64, 256, (8, 32), torch.float32)
