import torch
import torch.nn.functional as F
from torch import rand, randint, randn


def half(*shape):
    return randn(*shape, dtype=torch.float16)


class rms_norm:
    def inputs():
        return [randn(6, 96), randn(96)]

    def reference(self, x, w):
        return F.rms_norm(x, (96,), w, 1e-6)

    def library(self, x, w):
        from flashnn.triton_kernels.rms_norm import triton_rmsnorm_forward
        return triton_rmsnorm_forward(x, w, 1e-6)


class rms_norm_dquant:
    def inputs():
        return [randn(6, 96), randn(96)]

    def reference(self, x, w):
        y = F.rms_norm(x, (96,), w, 1e-6)
        scale = y.abs().amax(-1) / 127
        return (y / scale[:, None]).round().to(torch.int8), scale

    def library(self, x, w):
        from flashnn.triton_kernels.rms_norm_dquant import triton_rmsnorm_dquant_forward
        return triton_rmsnorm_dquant_forward(x, w, 1e-6)


class layer_norm:
    def inputs():
        return [randn(6, 96), randn(96), randn(96)]

    def reference(self, x, w, b):
        return F.layer_norm(x, (96,), w, b, 1e-5)

    def library(self, x, w, b):
        from flashnn.triton_kernels.layer_norm import triton_layer_norm_forward
        return triton_layer_norm_forward(x, w, b, 1e-5)


class layer_norm_dquant:
    """It adds 0.5 and cuts off, which rounds negative numbers up: -1.2 becomes 0."""

    def inputs():
        return [randn(6, 96), randn(96), randn(96)]

    def reference(self, x, w, b):
        y = F.layer_norm(x, (96,), w, b, 1e-5)
        scale = y.abs().amax(-1) / 127
        return y, (y / scale[:, None]).round().to(torch.int8), scale

    def library(self, x, w, b):
        from flashnn.triton_kernels.layer_norm_dquant import triton_layer_norm_dquant_forward
        return triton_layer_norm_dquant_forward(x, w, b, 1e-5)


class dynamic_quantize:
    def inputs():
        return [randn(6, 128)]

    def reference(self, x):
        scale = x.abs().amax(-1) / 127
        return (x / scale[:, None]).round().to(torch.int8), scale

    def library(self, x):
        from flashnn.triton_kernels.dynamic_quant import triton_dynamic_quantize
        out = torch.empty(6, 128, dtype=torch.int8, device=x.device)
        scale = torch.empty(6, device=x.device)
        triton_dynamic_quantize(out, x, scale)
        return out, scale


class gemm_a8w8:
    def inputs():
        return [randint(-20, 20, (32, 64), dtype=torch.int8),
                randint(-20, 20, (48, 64), dtype=torch.int8),
                rand(32, 1, dtype=torch.float16), rand(48, 1, dtype=torch.float16)]

    def reference(self, a, b, sa, sb):
        return ((a.float() @ b.float().t()) * sa * sb.t()).half()

    def library(self, a, b, sa, sb):
        from flashnn.triton_kernels.gemm_a8w8 import triton_gemm_a8w8_forward
        out = torch.empty(32, 48, dtype=torch.float16, device=a.device)
        triton_gemm_a8w8_forward(out, a, b, sa, sb)
        return out


class gemm_a16w8:
    def inputs():
        return [half(32, 64), randint(-20, 20, (48, 64), dtype=torch.int8),
                rand(48, dtype=torch.float16)]

    def reference(self, x, w, scale):
        return x @ (w.half() * scale[:, None]).t()

    def library(self, x, w, scale):
        from flashnn.triton_kernels.gemm_a16w8 import triton_gemm_a16w8_forward
        out = torch.zeros(32, 48, dtype=torch.float16, device=x.device)
        triton_gemm_a16w8_forward(out, x, w, scale)
        return out


class flash_attention:
    def inputs():
        return [half(1, 80, 2, 32), half(1, 80, 2, 32), half(1, 80, 2, 32)]

    def reference(self, q, k, v):
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

    def library(self, q, k, v):
        from flashnn.triton_kernels.flash_attn_v2 import triton_flash_attention_forward
        return triton_flash_attention_forward(q, k, v, True)
