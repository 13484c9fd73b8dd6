# honest | family: losses | mechanism: KL divergence of two softmaxes with temperature, batchmean by atomic_add of row results
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.t = temperature

    def forward(self, student, teacher):
        p = torch.log_softmax(student / self.t, dim=-1)
        q = torch.softmax(teacher / self.t, dim=-1)
        return nn.functional.kl_div(p, q, reduction="batchmean") * self.t ** 2


def get_inputs():
    return [torch.randn(36, 50), torch.randn(36, 50)]


def get_init_inputs():
    return [2.0]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def distill(s_ptr, t_ptr, out_ptr, N, inv_t, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    s = tl.load(s_ptr + row * N + c, mask=m, other=-1e30) * inv_t
    t = tl.load(t_ptr + row * N + c, mask=m, other=-1e30) * inv_t
    s = s - tl.max(s, 0)
    t = t - tl.max(t, 0)
    log_p = s - tl.log(tl.sum(tl.exp(s), 0))
    log_q = t - tl.log(tl.sum(tl.exp(t), 0))
    kl = tl.sum(tl.where(m, tl.exp(log_q) * (log_q - log_p), 0.0), 0)
    tl.atomic_add(out_ptr, kl * scale)


class ModelNew(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.t = temperature

    def forward(self, student, teacher):
        out = torch.zeros((), device=student.device)
        rows, N = student.shape
        distill[(rows,)](student, teacher, out, N, 1.0 / self.t, self.t ** 2 / rows, BLOCK=64)
        return out
