import torch
import torch.nn.functional as F
from torch import rand, randint, randn


class rms_norm:
    def inputs():
        return [randn(6, 96), randn(96)]

    def reference(self, x, w):
        return F.rms_norm(x, (96,), w, 1e-6)

    def library(self, x, w):
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction
        return LigerRMSNormFunction.apply(x, w, 1e-6)


class layer_norm:
    def inputs():
        return [randn(6, 96), randn(96), randn(96)]

    def reference(self, x, w, b):
        return F.layer_norm(x, (96,), w, b, 1e-5)

    def library(self, x, w, b):
        from liger_kernel.ops.layer_norm import LigerLayerNormFunction
        return LigerLayerNormFunction.apply(x, w, b, 1e-5)


class group_norm:
    def inputs():
        return [randn(3, 12, 20), randn(12), randn(12)]

    def reference(self, x, w, b):
        return F.group_norm(x, 4, w, b, 1e-5)

    def library(self, x, w, b):
        from liger_kernel.ops.group_norm import LigerGroupNormFunction
        return LigerGroupNormFunction.apply(x, w, b, 12, 4, 1e-5)


class fused_add_rms_norm:
    def inputs():
        return [randn(6, 96), randn(6, 96), randn(96)]

    def reference(self, x, r, w):
        s = x + r
        return F.rms_norm(s, (96,), w, 1e-6), s

    def library(self, x, r, w):
        from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction
        return LigerFusedAddRMSNormFunction.apply(x, r, w, 1e-6, 0.0, "llama", False)


class modulated_rms_norm:
    def inputs():
        return [randn(2, 5, 64), randn(64), randn(2, 64), randn(2, 64)]

    def reference(self, x, w, scale, shift):
        return F.rms_norm(x, (64,), w, 1e-6) * (1 + scale[:, None]) + shift[:, None]

    def library(self, x, w, scale, shift):
        from liger_kernel.ops.modulated_rms_norm import modulated_rms_norm_forward
        return modulated_rms_norm_forward(x, w, scale, shift, 1e-6, 0.0, "llama")[0]


class poly_norm:
    def inputs():
        return [randn(6, 96), randn(3), randn(1)]

    def reference(self, x, w, b):
        x2 = x * x
        x3 = x2 * x
        cube, square, line = (p * torch.rsqrt(p.pow(2).mean(-1, keepdim=True) + 1e-6)
                              for p in (x3, x2, x))
        return w[0] * cube + w[1] * square + w[2] * line + b

    def library(self, x, w, b):
        from liger_kernel.ops.poly_norm import LigerPolyNormFunction
        return LigerPolyNormFunction.apply(x, w, b, 1e-6)


class dyt:
    def inputs():
        return [randn(6, 96), randn(1), randn(96), randn(96)]

    def reference(self, x, alpha, gamma, beta):
        return torch.tanh(alpha * x) * gamma + beta

    def library(self, x, alpha, gamma, beta):
        from liger_kernel.ops.dyt import LigerDyTFunction
        return LigerDyTFunction.apply(x, alpha, gamma, beta)


class geglu:
    def inputs():
        return [randn(6, 96), randn(6, 96)]

    def reference(self, a, b):
        return F.gelu(a, approximate="tanh") * b

    def library(self, a, b):
        from liger_kernel.ops.geglu import LigerGELUMulFunction
        return LigerGELUMulFunction.apply(a, b)


class swiglu:
    def inputs():
        return [randn(6, 96), randn(6, 96)]

    def reference(self, a, b):
        return F.silu(a) * b

    def library(self, a, b):
        from liger_kernel.ops.swiglu import LigerSiLUMulFunction
        return LigerSiLUMulFunction.apply(a, b)


class relu_squared:
    def inputs():
        return [randn(6, 96)]

    def reference(self, x):
        return torch.relu(x).square()

    def library(self, x):
        from liger_kernel.ops.relu_squared import LigerReLUSquaredFunction
        return LigerReLUSquaredFunction.apply(x)


class softmax:
    def inputs():
        return [randn(6, 96)]

    def reference(self, x):
        return torch.softmax(x, -1)

    def library(self, x):
        from liger_kernel.ops.softmax import LigerSoftmaxFunction
        return LigerSoftmaxFunction.apply(x)


class sparsemax:
    def inputs():
        return [randn(6, 40)]

    def reference(self, x):
        ordered = torch.sort(x, dim=-1, descending=True).values
        sums = ordered.cumsum(-1) - 1
        k = torch.arange(1, 41, device=x.device, dtype=x.dtype)
        count = (ordered * k > sums).sum(-1, keepdim=True)
        tau = sums.gather(-1, count - 1) / count
        return torch.relu(x - tau)

    def library(self, x):
        from liger_kernel.ops.sparsemax import LigerSparsemaxFunction
        return LigerSparsemaxFunction.apply(x, -1)


class kl_div:
    def inputs():
        return [randn(6, 40).log_softmax(-1), randn(6, 40).softmax(-1)]

    def reference(self, p, q):
        return F.kl_div(p, q, reduction="batchmean")

    def library(self, p, q):
        from liger_kernel.ops.kl_div import LigerKLDivLossFunction
        return LigerKLDivLossFunction.apply(p, q, "batchmean", False, 1e-10)


class tvd:
    def inputs():
        return [randn(6, 40).softmax(-1), randn(6, 40).softmax(-1)]

    def reference(self, p, q):
        return 0.5 * (p - q).abs().sum(-1).sum() / 6

    def library(self, p, q):
        from liger_kernel.ops.tvd import LigerTVDLossFunction
        return LigerTVDLossFunction.apply(p, q, None, "batchmean", -100)


class jsd:
    def inputs():
        return [randn(6, 40).log_softmax(-1), randn(6, 40).log_softmax(-1)]

    def reference(self, x, y):
        p, q = x.exp(), y.exp()
        m = 0.5 * (p + q)
        return 0.5 * (F.kl_div(m.log(), p, reduction="batchmean")
                      + F.kl_div(m.log(), q, reduction="batchmean"))

    def library(self, x, y):
        from liger_kernel.ops.jsd import LigerJSDFunction
        return LigerJSDFunction.apply(x, y, None, 0.5, -100)


class fused_ce_tvd:
    def inputs():
        return [randn(6, 40), randn(6, 40), randint(0, 40, (6,))]

    def reference(self, student, teacher, target):
        distance = 0.5 * (student.softmax(-1) - teacher.softmax(-1)).abs().sum(-1)
        return F.cross_entropy(student, target, reduction="none"), distance

    def library(self, student, teacher, target):
        from liger_kernel.ops.fused_ce_tvd import fused_ce_tvd_forward
        return fused_ce_tvd_forward(student, teacher, target, -100)[:2]


class cross_entropy:
    """The number of labels that count is read on the host (`.item()`). A program reads no values there."""

    def inputs():
        return [randn(6, 40), randint(0, 40, (6,))]

    def reference(self, x, target):
        return F.cross_entropy(x, target)

    def library(self, x, target):
        from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
        return LigerCrossEntropyFunction.apply(x, target, None)[0]


class selective_log_softmax:
    def inputs():
        return [randn(2, 5, 40), randint(0, 40, (2, 4))]

    def reference(self, logits, ids):
        scores = (logits[:, :-1] / 0.9).log_softmax(-1)
        return scores.gather(-1, ids[..., None]).squeeze(-1)

    def library(self, logits, ids):
        from liger_kernel.ops.grpo_loss import fused_selective_log_softmax
        return fused_selective_log_softmax(logits, ids, 0.9)


class rope:
    def inputs():
        return [randn(2, 4, 5, 16), randn(2, 2, 5, 16), randn(1, 5, 8), randn(1, 5, 8)]

    def reference(self, q, k, cos, sin):
        c, s = torch.cat((cos, cos), -1)[:, None], torch.cat((sin, sin), -1)[:, None]

        def turned(x):
            return torch.cat((-x[..., 8:], x[..., :8]), -1)
        return q * c + turned(q) * s, k * c + turned(k) * s

    def library(self, q, k, cos, sin):
        from liger_kernel.ops.rope import LigerRopeFunction
        return LigerRopeFunction.apply(q, k, torch.cat((cos, cos), -1), torch.cat((sin, sin), -1))


class llama4_rope:
    def inputs():
        return [randn(2, 5, 4, 16), randn(2, 5, 2, 16), randn(5, 8, 2)]

    def reference(self, q, k, f):
        real, imag = f[:, None, :, 0], f[:, None, :, 1]

        def turned(x):
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack((a * real - b * imag, a * imag + b * real), -1).flatten(-2)
        return turned(q), turned(k)

    def library(self, q, k, f):
        from liger_kernel.ops.llama4_rope import llama4_rope_forward
        return llama4_rope_forward(q.clone(), k.clone(), f.flatten(1).view(5, 8, 2))


class qwen2vl_mrope:
    def inputs():
        return [randn(2, 4, 5, 16), randn(2, 2, 5, 16), randn(3, 2, 5, 16), randn(3, 2, 5, 16)]

    def reference(self, q, k, cos, sin):
        parts = [2, 3, 3, 2, 3, 3]
        c, s = (torch.cat([part[i % 3] for i, part in enumerate(t.split(parts, -1))], -1)[:, None]
                for t in (cos, sin))
        c, s = torch.cat((c[..., :8], c[..., :8]), -1), torch.cat((s[..., :8], s[..., :8]), -1)

        def turned(x):
            return torch.cat((-x[..., 8:], x[..., :8]), -1)
        return q * c + turned(q) * s, k * c + turned(k) * s

    def library(self, q, k, cos, sin):
        from liger_kernel.ops.qwen2vl_mrope import LigerQwen2VLMRopeFunction
        return LigerQwen2VLMRopeFunction.apply(q, k, cos, sin, [2, 3, 3])


class causal_mask:
    def inputs():
        return [randn(3, 12, 12)]

    def reference(self, x):
        keep = torch.ones(12, 12, dtype=torch.bool, device=x.device).tril()
        return torch.where(keep, x, -1e9)

    def library(self, x):
        from liger_kernel.ops.multi_token_attention import _mask_inf_forward
        return _mask_inf_forward(x)


class attn_res:
    def inputs():
        return [randn(3, 2, 4, 32), randn(32), randn(32)]

    def reference(self, blocks, query, w):
        keys = F.rms_norm(blocks, (32,), w, 1e-6)
        weights = (keys @ query).softmax(0)
        return (weights[..., None] * blocks).sum(0)

    def library(self, blocks, query, w):
        from liger_kernel.ops.attn_res import LigerAttnResFunction
        return LigerAttnResFunction.apply(blocks, query, w, 1e-6)


class embedding:
    def inputs():
        return [randn(50, 24), randint(0, 50, (3, 7))]

    def reference(self, table, at):
        return F.embedding(at, table)

    def library(self, table, at):
        from liger_kernel.ops.experimental.embedding import LigerEmbeddingFunction
        return LigerEmbeddingFunction.apply(table, at)


class mhc_product:
    """A product of float32 takes TF32 operands, which PyTorch does not without being told to."""

    def inputs():
        return [randn(6, 64), randn(64, 24)]

    def reference(self, x, phi):
        inverse = torch.rsqrt(x.square().mean(-1) + 1e-6)
        return (x @ phi) * inverse[:, None], inverse

    def library(self, x, phi):
        from liger_kernel.ops.mhc import mhc_mm_norm_fwd
        return mhc_mm_norm_fwd(x, phi, 1e-6)
