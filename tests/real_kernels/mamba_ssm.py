import torch
import torch.nn.functional as F
from torch import rand, randint, randn


def half(*shape):
    return randn(*shape, dtype=torch.float16)


class layer_norm:
    def inputs():
        return [randn(6, 96), randn(96), randn(96), randn(6, 96)]

    def reference(self, x, w, b, residual):
        return F.layer_norm(x + residual, (96,), w, b, 1e-6)

    def library(self, x, w, b, residual):
        from mamba_ssm.ops.triton.layer_norm import layer_norm_fn
        return layer_norm_fn(x, w, b, residual)


class rms_norm_gated:
    def inputs():
        return [randn(6, 96), randn(96), randn(6, 96)]

    def reference(self, x, w, z):
        return F.rms_norm(x, (96,), w, 1e-6) * F.silu(z)

    def library(self, x, w, z):
        from mamba_ssm.ops.triton.layernorm_gated import rmsnorm_fn
        return rmsnorm_fn(x, w, None, z)


class swiglu:
    def inputs():
        return [randn(6, 128)]

    def reference(self, x):
        return F.silu(x[:, :64]) * x[:, 64:]

    def library(self, x):
        from mamba_ssm.ops.triton.k_activations import swiglu
        return swiglu(x)


class selective_state_update:
    """Its softplus is log(exp(x) + 1), which loses small steps: softplus(-20) is 0."""

    def inputs():
        return [randn(2, 40, 16), randn(2, 40), randn(2, 40), randn(40, 16), randn(2, 16),
                randn(2, 16), randn(40), randn(2, 40), randn(40)]

    def reference(self, state, x, dt, a, b, c, d, z, bias):
        dt = F.softplus(dt + bias)
        decay = torch.exp(dt[..., None] * -a.abs())
        state.copy_(state * decay + dt[..., None] * b[:, None] * x[..., None])
        return ((state * c[:, None]).sum(-1) + x * d) * F.silu(z)

    def library(self, state, x, dt, a, b, c, d, z, bias):
        from mamba_ssm.ops.triton.selective_state_update import selective_state_update
        return selective_state_update(state, x, dt, -a.abs(), b, c, d, z, bias, True)


class chunk_bmm:
    def inputs():
        return [half(2, 64, 2, 32), half(2, 64, 2, 32)]

    def reference(self, a, b):
        return torch.einsum("bclgk,bcsgk->bcgls", a.view(2, 2, 32, 2, 32), b.view(2, 2, 32, 2, 32))

    def library(self, a, b):
        from mamba_ssm.ops.triton.ssd_bmm import _bmm_chunk_fwd
        return _bmm_chunk_fwd(a, b, 32)


class chunk_cumsum:
    """Its softplus is log(exp(x) + 1), which loses small steps: softplus(-20) is 0."""

    def inputs():
        return [randn(2, 64, 4), randn(4), randn(4)]

    def reference(self, dt, a, bias):
        dt = F.softplus(dt + bias).view(2, 2, 32, 4).permute(0, 3, 1, 2)
        return (dt * a[:, None, None]).cumsum(-1), dt.contiguous()

    def library(self, dt, a, bias):
        from mamba_ssm.ops.triton.ssd_chunk_state import _chunk_cumsum_fwd
        return _chunk_cumsum_fwd(dt, a, 32, bias, dt_softplus=True)


class state_passing:
    def inputs():
        return [randn(2, 5, 3, 32), randn(2, 3, 5)]

    def reference(self, states, fade):
        state, before = torch.zeros_like(states[:, 0]), []
        for t in range(5):
            before.append(state)
            state = state * torch.sigmoid(fade[:, :, t, None]) + states[:, t]
        return torch.stack(before, 1), state

    def library(self, states, fade):
        from mamba_ssm.ops.triton.ssd_state_passing import _state_passing_fwd
        return _state_passing_fwd(states, F.logsigmoid(fade))


class chunk_scan_combined:
    def inputs():
        return [half(1, 64, 2, 32), randn(1, 64, 2), randn(2), half(1, 64, 1, 16),
                half(1, 64, 1, 16), randn(2)]

    def reference(self, x, dt, a, b, c, d):
        dt, state, outputs = F.softplus(dt), 0.0, []
        for t in range(64):
            step = dt[:, t, :, None, None]
            state = state * torch.exp(step * -a.abs()[:, None, None])
            state = state + step * x[:, t, :, :, None] * b[:, t, :, None]
            outputs.append((state * c[:, t, :, None]).sum(-1) + x[:, t] * d[:, None])
        return torch.stack(outputs, 1).half()

    def library(self, x, dt, a, b, c, d):
        from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined
        return mamba_chunk_scan_combined(x, F.softplus(dt), -a.abs(), b, c, 32, d)


class angle_dt:
    """It takes tanh.approx, of which eleven bits are right, where the inputs are float32."""

    def inputs():
        return [randn(1, 32, 2, 16), rand(1, 2, 32)]

    def reference(self, angle, dt):
        turns = (torch.tanh(angle) * torch.pi * dt.transpose(1, 2)[..., None]).cumsum(1)
        return turns - 2 * torch.pi * (turns / (2 * torch.pi)).floor()

    def library(self, angle, dt):
        from mamba_ssm.ops.triton.mamba3.angle_dt import angle_dt_fwd
        return angle_dt_fwd(angle, dt)
