import torch
import torch.nn.functional as F
from torch import rand, randint, randn


def half(*shape):
    return randn(*shape, dtype=torch.float16)


def recurrence(q, k, v, decay=None, beta=None, bonus=None):
    """What linear attention gives token by token. decay: factors of the state, [B, T, H] or
    [B, T, H, K]; beta: of the delta rule; bonus: of the token itself, as RWKV-6 has it."""
    state, outputs = 0.0, []
    for t in range(q.shape[1]):
        key, value = k[:, t], v[:, t]
        kept = state
        if decay is not None:
            kept = state * decay[:, t].reshape(decay.shape[0], decay.shape[2], -1, 1)
        if beta is not None:
            value = (value - (kept * key[..., None]).sum(-2)) * beta[:, t, :, None]
        new = key[..., None] * value[..., None, :]
        seen = kept + new if bonus is None else state + bonus[..., None] * new
        outputs.append((q[:, t, :, :, None] * seen).sum(-2))
        state = kept + new
    return torch.stack(outputs, 1)


def heads_first(*tensors):
    return [t.transpose(1, 2) for t in tensors]


def causal(n, device):
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


class local_cumsum:
    def inputs():
        return [randn(2, 64, 3)]

    def reference(self, g):
        return g.view(2, 4, 16, 3).cumsum(2).view(2, 64, 3)

    def library(self, g):
        from fla.ops.utils.cumsum import chunk_local_cumsum
        return chunk_local_cumsum(g, 16)


class logsumexp:
    def inputs():
        return [randn(6, 96)]

    def reference(self, x):
        return x.logsumexp(-1)

    def library(self, x):
        from fla.ops.utils.logsumexp import logsumexp_fwd
        return logsumexp_fwd(x)


class matmul:
    def inputs():
        return [randn(24, 40), randn(40, 32)]

    def reference(self, a, b):
        return torch.relu(a @ b)

    def library(self, a, b):
        from fla.ops.utils.matmul import matmul
        return matmul(a, b, "relu")


class softmax:
    def inputs():
        return [randn(6, 96)]

    def reference(self, x):
        return x.softmax(-1)

    def library(self, x):
        from fla.ops.utils.softmax import softmax_fwd
        return softmax_fwd(x)


class mean_pooling:
    def inputs():
        return [randn(2, 32, 3, 16)]

    def reference(self, x):
        return x.view(2, 4, 8, 3, 16).mean(2)

    def library(self, x):
        from fla.ops.utils.pooling import mean_pooling
        return mean_pooling(x, 8)


class solve_tril:
    def inputs():
        return [randn(2, 32, 2, 16) * 0.1]

    def reference(self, a):
        a = a.view(2, 2, 16, 2, 16).transpose(2, 3).tril(-1)
        inverse = term = torch.eye(16, device=a.device).expand_as(a)
        for _ in range(15):
            term = -(term @ a)
            inverse = inverse + term
        return inverse.transpose(2, 3).reshape(2, 32, 2, 16)

    def library(self, a):
        from fla.ops.utils.solve_tril import solve_tril
        a = a.view(2, 2, 16, 2, 16).transpose(2, 3).tril(-1)
        return solve_tril(a.transpose(2, 3).reshape(2, 32, 2, 16))


class pack:
    def inputs():
        return [randn(3, 8, 16)]

    def reference(self, x):
        return torch.cat((x[0, 3:], x[1, 1:], x[2, 4:]))

    def library(self, x):
        from fla.ops.utils.pack import pack_sequence
        return pack_sequence(x, torch.tensor([0, 5, 12, 16], device=x.device))


class swiglu:
    def inputs():
        return [randn(6, 96), randn(6, 96)]

    def reference(self, x, y):
        return F.silu(x) * y

    def library(self, x, y):
        from fla.modules.activations.ops import swiglu
        return swiglu(x, y)


class l2norm:
    def inputs():
        return [randn(2, 10, 3, 32)]

    def reference(self, x):
        return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)

    def library(self, x):
        from fla.modules.norm.l2norm import l2norm
        return l2norm(x)


class layer_norm:
    def inputs():
        return [randn(2, 10, 64), randn(64), randn(64), randn(2, 10, 64)]

    def reference(self, x, w, b, residual):
        return F.layer_norm(x + residual, (64,), w, b, 1e-5)

    def library(self, x, w, b, residual):
        from fla.modules.norm.layernorm import layer_norm
        return layer_norm(x, w, b, residual)


class layer_norm_gated:
    def inputs():
        return [randn(2, 10, 64), randn(64), randn(64), randn(2, 10, 64)]

    def reference(self, x, w, b, z):
        return F.layer_norm(x, (64,), w, b, 1e-6) * F.silu(z)

    def library(self, x, w, b, z):
        from fla.modules.norm.layernorm_gated import layernorm_fn
        return layernorm_fn(x, w, b, z)


class rms_norm_gated:
    def inputs():
        return [randn(2, 10, 64), randn(2, 10, 64), randn(64)]

    def reference(self, x, g, w):
        return F.rms_norm(x, (64,), w, 1e-6) * F.silu(g)

    def library(self, x, g, w):
        from fla.modules.norm.fused_norm_gate import rms_norm_gated
        return rms_norm_gated(x, g, w, None)


class layer_norm_quant:
    def inputs():
        return [randn(8, 64), randn(64), randn(64)]

    def reference(self, x, w, b):
        y = F.layer_norm(x, (64,), w, b, 1e-5)
        scale = 127.0 / y.abs().amax(-1, keepdim=True).clamp(min=1e-5)
        return (y * scale).round().clamp(-128, 127) / scale

    def library(self, x, w, b):
        from fla.modules.norm.layernorm_quant import layer_norm_quant_fwd
        return layer_norm_quant_fwd(x, w, b, 1e-5)[0]


class rotary:
    def inputs():
        return [randn(2, 10, 3, 16), rand(10, 8), rand(10, 8)]

    def reference(self, x, cos, sin):
        c, s = cos[:, None], sin[:, None]
        a, b = x[..., :8], x[..., 8:]
        return torch.cat((a * c - b * s, a * s + b * c), -1)

    def library(self, x, cos, sin):
        from fla.modules.rotary.ops import rotary_embedding
        return rotary_embedding(x, cos, sin)


class token_shift:
    def inputs():
        return [randn(2, 10, 32)]

    def reference(self, x):
        return F.pad(x, (0, 0, 1, 0))[:, :-1] - x

    def library(self, x):
        from fla.modules.token_shift import token_shift
        return token_shift(x)


class causal_conv1d:
    def inputs():
        return [randn(2, 20, 32), randn(32, 4), randn(32)]

    def reference(self, x, w, b):
        y = F.conv1d(F.pad(x.transpose(1, 2), (3, 0)), w[:, None], b, groups=32)
        return F.silu(y.transpose(1, 2))

    def library(self, x, w, b):
        from fla.modules.causal_conv1d.ops import causal_conv1d
        return causal_conv1d(x, w, b, activation="silu")[0]


class cross_entropy:
    def inputs():
        return [randn(12, 40), randint(0, 40, (12,))]

    def reference(self, x, target):
        return F.cross_entropy(x, target, reduction="none")

    def library(self, x, target):
        from fla.modules.fused_cross_entropy.ops import cross_entropy_loss
        return cross_entropy_loss(x, target)[0]


class linear_cross_entropy:
    def inputs():
        return [randn(12, 32), randint(0, 40, (12,)), randn(40, 32)]

    def reference(self, x, target, w):
        return F.cross_entropy(x @ w.t(), target)

    def library(self, x, target, w):
        from fla.modules.fused_linear_cross_entropy.ops import fused_linear_cross_entropy_loss
        return fused_linear_cross_entropy_loss(x, target, w)


class kl_div:
    def inputs():
        return [randn(12, 32), randn(12, 32), randn(40, 32), randn(40, 32)]

    def reference(self, x, other, w, other_w):
        p, q = (x @ w.t()).log_softmax(-1), (other @ other_w.t()).softmax(-1)
        return F.kl_div(p, q, reduction="batchmean")

    def library(self, x, other, w, other_w):
        from fla.modules.fused_kl_div.ops import fused_kl_div_loss
        return fused_kl_div_loss(x, other, w, other_w)


class grpo:
    def inputs():
        return [randn(2, 5, 40), randn(2, 4), randint(0, 40, (2, 4)), randn(2)]

    def reference(self, logits, other, ids, advantages):
        scores = logits[:, :-1].log_softmax(-1).gather(-1, ids[..., None]).squeeze(-1)
        away = other - scores
        return 0.1 * (away.exp() - away - 1) - advantages[:, None]

    def library(self, logits, other, ids, advantages):
        from fla.modules.grpo.ops import fused_grpo_loss
        return fused_grpo_loss(logits, other, ids, advantages)


class recurrent_simple_gla:
    def inputs():
        return [randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2)]

    def reference(self, q, k, v, g):
        return recurrence(q * 0.25, k, v, torch.sigmoid(g))

    def library(self, q, k, v, g):
        from fla.ops.simple_gla.fused_recurrent import fused_recurrent_simple_gla
        return fused_recurrent_simple_gla(q, k, v, F.logsigmoid(g))[0]


class recurrent_gla:
    def inputs():
        return [randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16)]

    def reference(self, q, k, v, g):
        return recurrence(q * 0.25, k, v, torch.sigmoid(g))

    def library(self, q, k, v, g):
        from fla.ops.gla.fused_recurrent import fused_recurrent_gla
        return fused_recurrent_gla(q, k, v, F.logsigmoid(g))[0]


class recurrent_rwkv6:
    def inputs():
        return [randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 16)]

    def reference(self, r, k, v, w, u):
        return recurrence(r * 0.25, k, v, torch.sigmoid(w), bonus=u)

    def library(self, r, k, v, w, u):
        from fla.ops.rwkv6.fused_recurrent import fused_recurrent_rwkv6
        return fused_recurrent_rwkv6(r, k, v, F.logsigmoid(w), u)[0]


class recurrent_hgrn:
    def inputs():
        return [randn(2, 20, 32), randn(2, 20, 32)]

    def reference(self, x, g):
        state, outputs = 0.0, []
        for t in range(20):
            state = state * torch.sigmoid(g[:, t]) + x[:, t]
            outputs.append(state)
        return torch.stack(outputs, 1)

    def library(self, x, g):
        from fla.ops.hgrn.fused_recurrent import fused_recurrent_hgrn
        return fused_recurrent_hgrn(x, F.logsigmoid(g))[0]


class recurrent_delta_rule:
    def inputs():
        return [randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2)]

    def reference(self, q, k, v, b):
        return recurrence(q * 0.25, F.normalize(k, dim=-1), v, beta=torch.sigmoid(b))

    def library(self, q, k, v, b):
        from fla.ops.delta_rule.fused_recurrent import fused_recurrent_delta_rule
        return fused_recurrent_delta_rule(q, F.normalize(k, dim=-1), v, torch.sigmoid(b))[0]


class recurrent_gated_delta_rule:
    def inputs():
        return [randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2), randn(2, 20, 2)]

    def reference(self, q, k, v, g, b):
        return recurrence(q * 0.25, F.normalize(k, dim=-1), v, torch.sigmoid(g), torch.sigmoid(b))

    def library(self, q, k, v, g, b):
        from fla.ops.gated_delta_rule.fused_recurrent import fused_recurrent_gated_delta_rule
        return fused_recurrent_gated_delta_rule(
            q, F.normalize(k, dim=-1), v, F.logsigmoid(g), beta=torch.sigmoid(b))[0]


class recurrent_kda:
    def inputs():
        return [randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2)]

    def reference(self, q, k, v, g, b):
        return recurrence(q * 0.25, F.normalize(k, dim=-1), v, torch.sigmoid(g), torch.sigmoid(b))

    def library(self, q, k, v, g, b):
        from fla.ops.kda.fused_recurrent import fused_recurrent_kda
        return fused_recurrent_kda(
            q, F.normalize(k, dim=-1), v, F.logsigmoid(g), torch.sigmoid(b))[0]


class recurrent_dplr:
    def inputs():
        return [randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16), randn(2, 20, 2, 16)]

    def reference(self, q, k, v, a, g):
        a = F.normalize(a, dim=-1)
        state, outputs = torch.zeros(2, 2, 16, 16, device=q.device), []
        for t in range(20):
            kept = state * torch.sigmoid(g[:, t, :, :, None])
            kept = kept - a[:, t, :, :, None] * 0.5 * (a[:, t, :, :, None] * state).sum(-2, keepdim=True)
            state = kept + k[:, t, :, :, None] * v[:, t, :, None]
            outputs.append((q[:, t, :, :, None] * 0.25 * state).sum(-2))
        return torch.stack(outputs, 1)

    def library(self, q, k, v, a, g):
        from fla.ops.generalized_delta_rule.dplr.fused_recurrent import fused_recurrent_dplr_delta_rule
        a = F.normalize(a, dim=-1)
        return fused_recurrent_dplr_delta_rule(q, k, v, a, -0.5 * a, F.logsigmoid(g))[0]


class chunk_simple_gla:
    def inputs():
        return [half(1, 80, 1, 32), half(1, 80, 1, 32), half(1, 80, 1, 32), randn(1, 80, 1)]

    def reference(self, q, k, v, g):
        return recurrence(q * 32 ** -0.5, k, v, torch.sigmoid(g)).half()

    def library(self, q, k, v, g):
        from fla.ops.simple_gla.chunk import chunk_simple_gla
        return chunk_simple_gla(q, k, v, F.logsigmoid(g))[0]


class chunk_gla:
    def inputs():
        return [half(1, 80, 1, 32), half(1, 80, 1, 32), half(1, 80, 1, 32), randn(1, 80, 1, 32)]

    def reference(self, q, k, v, g):
        return recurrence(q * 32 ** -0.5, k, v, torch.sigmoid(g)).half()

    def library(self, q, k, v, g):
        from fla.ops.gla.chunk import chunk_gla
        return chunk_gla(q, k, v, F.logsigmoid(g))[0]


class chunk_linear_attn:
    def inputs():
        return [half(1, 80, 1, 32), half(1, 80, 1, 32), half(1, 80, 1, 32)]

    def reference(self, q, k, v):
        q, k, v = heads_first(q * 32 ** -0.5, k, v)
        return ((q @ k.transpose(-1, -2)).tril() @ v).transpose(1, 2)

    def library(self, q, k, v):
        from fla.ops.linear_attn.chunk import chunk_linear_attn
        return chunk_linear_attn(q, k, v, normalize=False)[0]


class chunk_retention:
    def inputs():
        return [half(1, 80, 1, 32), half(1, 80, 1, 32), half(1, 80, 1, 32)]

    def reference(self, q, k, v):
        q, k, v = heads_first(q * 32 ** -0.5, k, v)
        at = torch.arange(80, device=q.device)
        rate = torch.log2(1 - torch.exp2(-5.0 - torch.arange(1, device=q.device)))
        fade = torch.exp2((at[:, None] - at) * rate[:, None, None]).tril()
        return ((q @ k.transpose(-1, -2) * fade.half()) @ v).transpose(1, 2)

    def library(self, q, k, v):
        from fla.ops.retention.chunk import chunk_retention
        return chunk_retention(q, k, v)[0]


class chunk_delta_rule:
    def inputs():
        return [half(1, 80, 1, 32), half(1, 80, 1, 32), half(1, 80, 1, 32), randn(1, 80, 1)]

    def reference(self, q, k, v, b):
        return recurrence(q * 32 ** -0.5, F.normalize(k, dim=-1), v, beta=torch.sigmoid(b).half())

    def library(self, q, k, v, b):
        from fla.ops.delta_rule.chunk import chunk_delta_rule
        return chunk_delta_rule(q, F.normalize(k, dim=-1), v, torch.sigmoid(b).half())[0]


class chunk_gated_delta_rule:
    def inputs():
        return [half(1, 80, 1, 32), half(1, 80, 1, 32), half(1, 80, 1, 32), randn(1, 80, 1), randn(1, 80, 1)]

    def reference(self, q, k, v, g, b):
        return recurrence(q * 32 ** -0.5, F.normalize(k, dim=-1), v, torch.sigmoid(g),
                          torch.sigmoid(b)).half()

    def library(self, q, k, v, g, b):
        from fla.ops.gated_delta_rule.chunk import chunk_gated_delta_rule
        return chunk_gated_delta_rule(
            q, F.normalize(k, dim=-1), v, F.logsigmoid(g), torch.sigmoid(b))[0]


class chunk_kda:
    def inputs():
        return [half(1, 80, 1, 32), half(1, 80, 1, 32), half(1, 80, 1, 32), randn(1, 80, 1, 32), randn(1, 80, 1)]

    def reference(self, q, k, v, g, b):
        return recurrence(q * 32 ** -0.5, F.normalize(k, dim=-1), v, torch.sigmoid(g),
                          torch.sigmoid(b)).half()

    def library(self, q, k, v, g, b):
        from fla.ops.kda.chunk import chunk_kda
        return chunk_kda(q, F.normalize(k, dim=-1), v, F.logsigmoid(g), torch.sigmoid(b))[0]


class chunk_rwkv6:
    def inputs():
        return [half(1, 80, 1, 32), half(1, 80, 1, 32), half(1, 80, 1, 32), randn(1, 80, 1, 32), half(1, 32)]

    def reference(self, r, k, v, w, u):
        return recurrence(r * 32 ** -0.5, k, v, torch.sigmoid(w), bonus=u).half()

    def library(self, r, k, v, w, u):
        from fla.ops.rwkv6.chunk import chunk_rwkv6
        return chunk_rwkv6(r, k, v, F.logsigmoid(w), u)[0]


class chunk_hgrn:
    def inputs():
        return [randn(1, 64, 32), randn(1, 64, 32)]

    def reference(self, x, g):
        state, outputs = 0.0, []
        for t in range(64):
            state = state * torch.sigmoid(g[:, t]) + x[:, t]
            outputs.append(state)
        return torch.stack(outputs, 1)

    def library(self, x, g):
        from fla.ops.hgrn.chunk import chunk_hgrn
        return chunk_hgrn(x, F.logsigmoid(g))[0]


class parallel_attn:
    def inputs():
        return [half(1, 80, 4, 32), half(1, 80, 2, 32), half(1, 80, 2, 32)]

    def reference(self, q, k, v):
        q, k, v = heads_first(q, k, v)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)

    def library(self, q, k, v):
        from fla.ops.attn.parallel import parallel_attn
        return parallel_attn(q, k, v)


class forgetting_attn:
    def inputs():
        return [half(1, 80, 2, 32), half(1, 80, 2, 32), half(1, 80, 2, 32), randn(1, 80, 2)]

    def reference(self, q, k, v, g):
        q, k, v = heads_first(q, k, v)
        fade = F.logsigmoid(g).cumsum(1).transpose(1, 2)
        scores = q @ k.transpose(-1, -2) * 32 ** -0.5 + (fade[..., None] - fade[:, :, None])
        scores = scores.masked_fill(~causal(80, q.device), -torch.inf)
        return (scores.softmax(-1).half() @ v).transpose(1, 2)

    def library(self, q, k, v, g):
        from fla.ops.forgetting_attn.parallel import parallel_forgetting_attn
        return parallel_forgetting_attn(q, k, v, F.logsigmoid(g))


class parallel_simple_gla:
    def inputs():
        return [half(1, 128, 2, 32), half(1, 128, 2, 32), half(1, 128, 2, 32), randn(1, 128, 2)]

    def reference(self, q, k, v, g):
        q, k, v = heads_first(q * 32 ** -0.5, k, v)
        fade = F.logsigmoid(g).cumsum(1).transpose(1, 2)
        fade = (fade[..., None] - fade[:, :, None]).masked_fill(~causal(128, q.device), -torch.inf).exp()
        return ((q @ k.transpose(-1, -2) * fade).half() @ v).transpose(1, 2)

    def library(self, q, k, v, g):
        from fla.ops.simple_gla.parallel import parallel_simple_gla
        return parallel_simple_gla(q, k, v, F.logsigmoid(g))[0]


class stickbreaking_attn:
    def inputs():
        return [half(1, 64, 2, 32), half(1, 64, 2, 32), half(1, 64, 2, 32)]

    def reference(self, q, k, v):
        q, k, v = heads_first(q, k, v)
        scores = (q @ k.transpose(-1, -2)).float() * 32 ** -0.5
        before = causal(64, q.device).tril(-1)
        broken = F.logsigmoid(scores)
        left = F.logsigmoid(-scores).masked_fill(~before, 0.0)
        after = left.flip(-1).cumsum(-1).flip(-1) - left
        weights = (broken + after).exp().masked_fill(~before, 0.0)
        return (weights.half() @ v).transpose(1, 2)

    def library(self, q, k, v):
        from fla.ops.stickbreaking_attn.parallel import parallel_stickbreaking_attn
        return parallel_stickbreaking_attn(q, k, v)[0]


class based:
    def inputs():
        return [half(1, 64, 2, 16), half(1, 64, 2, 16), half(1, 64, 2, 32)]

    def reference(self, q, k, v):
        q, k, v = heads_first(q * 0.25, k, v)
        scores = q @ k.transpose(-1, -2)
        return ((1 + scores + 0.5 * scores * scores).tril() @ v).transpose(1, 2)

    def library(self, q, k, v):
        from fla.ops.based.parallel import parallel_based
        return parallel_based(q, k, v, use_norm=False)


class rwkv7_k_update:
    def inputs():
        return [randn(2, 20, 64), randn(2, 20, 64), randn(64)]

    def reference(self, k, a, ka):
        return k + k * (a - 1) * ka

    def library(self, k, a, ka):
        from fla.ops.rwkv7.fused_k_update import k_update_fwd
        return k_update_fwd(k, a, ka)[0]


class rwkv7_mix:
    def inputs():
        return [randn(2, 20, 64), randn(2, 64), randn(1, 1, 64), randn(64, 96), randn(96, 64)]

    def reference(self, x, before, share, key, value):
        shifted = torch.cat((before[:, None], x[:, :-1]), 1)
        k = torch.addcmul(x, shifted - x, share)
        return torch.relu(k @ key).square() @ value

    def library(self, x, before, share, key, value):
        from fla.ops.rwkv7.channel_mixing import channel_mixing_rwkv7
        return channel_mixing_rwkv7(x, before, share, key, value)[0]


class gdn_gate:
    def inputs():
        return [randn(2, 20, 4), randn(4), randn(4)]

    def reference(self, g, a, b):
        return -a.exp() * F.softplus(g + b)

    def library(self, g, a, b):
        from fla.ops.gated_delta_rule.gate import fused_gdn_gate
        return fused_gdn_gate(g, a, b)


class kda_gate:
    def inputs():
        return [randn(2, 20, 4, 16), randn(4), randn(4, 16)]

    def reference(self, g, a, b):
        return -a[:, None].exp() * F.softplus(g + b)

    def library(self, g, a, b):
        from fla.ops.kda.gate import fused_kda_gate
        return fused_kda_gate(g, a, b.flatten())


class attn_decoding:
    def inputs():
        return [half(1, 3, 4, 64), half(1, 60, 2, 64), half(1, 60, 2, 64)]

    def reference(self, q, k, v):
        k, v = (t.repeat_interleave(2, 2).view(3, 20, 4, 64).transpose(1, 2) for t in (k, v))
        return F.scaled_dot_product_attention(q.view(3, 4, 1, 64), k, v).view(1, 3, 4, 64)

    def library(self, q, k, v):
        from fla.ops.attn.decoding import attn_decoding_one_step
        ends = torch.arange(0, 61, 20, device=q.device)
        return attn_decoding_one_step(q, k, v, cu_seqlens=ends)


class attnres:
    def inputs():
        return [randn(32), randn(2, 10, 32), randn(2, 10, 32), randn(2, 10, 32), randn(32)]

    def reference(self, query, a, b, c, w):
        values = torch.stack((a, b, c))
        weights = (F.rms_norm(values, (32,), w, 1e-6) @ query).softmax(0)
        return (weights[..., None] * values).sum(0)

    def library(self, query, a, b, c, w):
        from fla.ops.attnres.fused import fused_attnres
        return fused_attnres(query, [a, b, c], w)


class scaled_dot_kkt:
    def inputs():
        return [half(1, 64, 2, 32), randn(1, 64, 2)]

    def reference(self, k, beta):
        rows = k.transpose(1, 2)
        product = (rows @ rows.transpose(-1, -2)).tril(-1) * beta.transpose(1, 2)[..., None]
        return product.transpose(1, 2).contiguous()

    def library(self, k, beta):
        from fla.ops.common.chunk_scaled_dot_kkt import chunk_scaled_dot_kkt_fwd
        return chunk_scaled_dot_kkt_fwd(k, beta=beta)
