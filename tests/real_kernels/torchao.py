import torch
import torch.nn.functional as F
from torch import rand, randint, randn


class scaled_int8_mm:
    def inputs():
        return [randint(-20, 20, (32, 64), dtype=torch.int8),
                randint(-20, 20, (64, 48), dtype=torch.int8), rand(32, 1), rand(1, 48)]

    def reference(self, a, b, rows, columns):
        return (a.float() @ b.float()) * rows * columns

    def library(self, a, b, rows, columns):
        from torchao.prototype.quantized_training.int8_mm import scaled_int8_mm
        return scaled_int8_mm(a, b, rows, columns)


class inverse_hadamard:
    def inputs():
        return [randn(1, 2, 20, 32, dtype=torch.float16)]

    def reference(self, x):
        matrix = torch.ones(1, 1, device=x.device)
        for _ in range(5):
            matrix = torch.cat((torch.cat((matrix, matrix), 1), torch.cat((matrix, -matrix), 1)))
        return (x.float() @ matrix * 32 ** -0.5).half()

    def library(self, x):
        from torchao.prototype.attention.quantization.triton_hadamard_utils import (
            inverse_hadamard_transform)
        return inverse_hadamard_transform(x)


class fill_indices:
    def inputs():
        return [torch.tensor([3, 5, 2, 4], dtype=torch.int32)]

    def reference(self, counts):
        out = torch.full((20,), -1, dtype=torch.int32, device=counts.device)
        out[:14] = torch.tensor([0, 1, 2, 8, 9, 3, 4, 5, 6, 7, 10, 11, 12, 13], dtype=torch.int32,
                                device=counts.device)
        return out

    def library(self, counts):
        from torchao.prototype.moe_training.ep.kernels import fill_indices_wrapper
        starts = (counts.cumsum(0) - counts).int()
        writes = torch.tensor([0, 5], dtype=torch.int32, device=counts.device)
        return fill_indices_wrapper(counts, starts, writes, 2, 2, 20)


class int_scaled_matmul:
    """The library times its configurations itself, and a recording has no times."""

    def inputs():
        return [randint(-20, 20, (32, 64), dtype=torch.int8),
                randint(-20, 20, (64, 48), dtype=torch.int8), rand(32, 1)]

    def reference(self, a, b, scales):
        return (a.float() @ b.float()) * scales

    def library(self, a, b, scales):
        from torchao.kernel.intmm_triton import int_scaled_matmul_cuda
        return int_scaled_matmul_cuda(a, b, scales)


class fp8_weight_dequant:
    def inputs():
        return [randn(64, 128), rand(1, 1)]

    def reference(self, x, scale):
        return x * scale

    def library(self, x, scale):
        from torchao.kernel.blockwise_quantization import fp8_blockwise_weight_dequant
        return fp8_blockwise_weight_dequant(x, scale)
