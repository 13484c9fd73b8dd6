import torch
import torch.nn.functional as F
from torch import rand, randint, randn


def half(*shape):
    return randn(*shape, dtype=torch.float16)


class gelu_tanh_and_mul:
    def inputs():
        return [randn(6, 128)]

    def reference(self, x):
        return F.gelu(x[:, :64], approximate="tanh") * x[:, 64:]

    def library(self, x):
        from conch.ops.activation.gelu_tanh_and_mul import gelu_tanh_and_mul
        return gelu_tanh_and_mul(x)


class silu_and_mul:
    def inputs():
        return [randn(6, 128)]

    def reference(self, x):
        return F.silu(x[:, :64]) * x[:, 64:]

    def library(self, x):
        from conch.ops.activation.silu_and_mul import silu_and_mul
        return silu_and_mul(x)


class rms_norm:
    def inputs():
        return [randn(6, 96), randn(96)]

    def reference(self, x, w):
        return F.rms_norm(x, (96,), w, 1e-6)

    def library(self, x, w):
        from conch.ops.normalization.rms_norm import rms_norm
        return rms_norm(x, w, 1e-6)


class gemma_rms_norm:
    def inputs():
        return [randn(6, 96), randn(96)]

    def reference(self, x, w):
        return x.copy_(F.rms_norm(x, (96,), 1 + w, 1e-6))

    def library(self, x, w):
        from conch.ops.normalization.gemma_rms_norm import gemma_rms_norm
        return gemma_rms_norm(x, w, 1e-6)


class int8_quant:
    def inputs():
        return [randn(6, 96), rand(1) + 0.5]

    def reference(self, x, scale):
        return (x * (1 / (scale / 16))).clamp(-128, 127).to(torch.int8)

    def library(self, x, scale):
        from conch.ops.quantization.int8 import scaled_int8_quant
        return scaled_int8_quant(x, scale / 16)[0]


class rotary_embedding:
    def inputs():
        return [randint(0, 30, (6,)), randn(6, 64), randn(6, 32), randn(30, 16)]

    def reference(self, at, q, k, table):
        cos, sin = table[at][:, None].chunk(2, -1)

        def turned(x):
            a, b = x.view(6, -1, 16).chunk(2, -1)
            return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).view(6, -1)
        return turned(q), turned(k)

    def library(self, at, q, k, table):
        from conch.ops.embedding.rotary_embedding import rotary_embedding
        return rotary_embedding(at, q.clone(), k.clone(), 16, table)


class scaled_gemm:
    def inputs():
        return [randint(-20, 20, (32, 64), dtype=torch.int8),
                randint(-20, 20, (64, 64), dtype=torch.int8), rand(32, 1), rand(64, 1)]

    def reference(self, a, b, sa, sb):
        return ((a.float() @ b.float()) * sa * sb.t()).half()

    def library(self, a, b, sa, sb):
        from conch.ops.quantization.gemm import scaled_gemm
        return scaled_gemm(a, b, sa, sb, torch.float16)


class dequantize_nf4:
    def inputs():
        return [randint(0, 256, (128, 1), dtype=torch.uint8), rand(4)]

    def reference(self, x, scale):
        table = torch.tensor([
            -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
            -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
            0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
            0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], device=x.device)
        codes = torch.stack((x >> 4, x & 15), -1).view(4, 64).long()
        return (table[codes] * scale[:, None]).view(256)

    def library(self, x, scale):
        from conch.ops.quantization.bitsandbytes.functional import dequantize_4bit
        out = torch.empty(256, device=x.device)
        return dequantize_4bit(x, absmax=scale, out=out, quant_type="nf4")


class bev_pool:
    def inputs():
        return [randn(12, 32), torch.tensor([[1, 2, 0, 0], [0, 1, 0, 1], [2, 0, 0, 1]],
                                            dtype=torch.int32).repeat_interleave(4, 0),
                torch.tensor([0, 4, 8], dtype=torch.int32), torch.tensor([4, 4, 4], dtype=torch.int32)]

    def reference(self, features, places, starts, lengths):
        out = torch.zeros(2, 1, 3, 3, 32, device=features.device)
        x, y, z, batch = places.long().unbind(-1)
        return out.index_put((batch, z, x, y), features, accumulate=True)

    def library(self, features, places, starts, lengths):
        from conch.ops.vision.bev_pool import bev_pool
        return bev_pool(features, places, starts, lengths, 2, 1, 3, 3)


class nms:
    """The number of boxes that are left depends on the data, so no program has its shape."""

    def inputs():
        return [torch.cat((rand(12, 2), rand(12, 2) + 1), -1), rand(12)]

    def reference(self, boxes, scores):
        order = scores.argsort(descending=True)
        return order[:4]

    def library(self, boxes, scores):
        from conch.ops.vision.nms import nms
        return nms(boxes, scores, 0.5)


class paged_attention:
    """Scores, sums and weights of the softmax are rounded to half precision."""

    def inputs():
        return [half(12, 4, 32), half(8, 16, 2, 32), half(8, 16, 2, 32),
                randint(0, 8, (12, 4), dtype=torch.int32), randint(1, 65, (12,), dtype=torch.int32)]

    def reference(self, q, keys, values, blocks, lengths):
        k, v = (t[blocks.long()].reshape(12, 64, 2, 32).transpose(1, 2) for t in (keys, values))
        mask = torch.arange(64, device=q.device) < lengths[:, None, None, None]
        return F.scaled_dot_product_attention(
            q[:, :, None], k, v, mask, enable_gqa=True).squeeze(2)

    def library(self, q, keys, values, blocks, lengths):
        from conch.ops.attention.paged_attention import paged_attention
        return paged_attention(q, keys, values, blocks, lengths)


class reshape_and_cache:
    def inputs():
        return [half(6, 2, 32), half(6, 2, 32), half(4, 16, 2, 32), half(4, 16, 2, 32),
                torch.tensor([3, 17, 50, 0, 33, 8])]

    def reference(self, k, v, keys, values, at):
        keys[at // 16, at % 16] = k
        values[at // 16, at % 16] = v
        return keys, values

    def library(self, k, v, keys, values, at):
        from conch.ops.vllm.reshape_and_cache import reshape_and_cache
        reshape_and_cache(k, v, keys, values, at)
        return keys, values
