# honest | family: losses | mechanism: cross entropy with ignore_index, per-row loss and valid count, mean taken by a second kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, logits, target):
        return nn.functional.cross_entropy(logits, target, ignore_index=0)


def get_inputs():
    return [torch.randn(47, 70), torch.randint(0, 70, (47,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ce_rows(x_ptr, t_ptr, loss_ptr, valid_ptr, V, IGNORE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    target = tl.load(t_ptr + row)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * V + c, mask=c < V, other=float("-inf"))
    top = tl.max(x, axis=0)
    lse = top + tl.log(tl.sum(tl.exp(x - top), axis=0))
    picked = tl.load(x_ptr + row * V + target)
    valid = target != IGNORE
    tl.store(loss_ptr + row, tl.where(valid, lse - picked, 0.0))
    tl.store(valid_ptr + row, valid.to(tl.float32))


@triton.jit
def mean_of_valid(loss_ptr, valid_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(loss_ptr + i, mask=i < n, other=0.0))
    count = tl.sum(tl.load(valid_ptr + i, mask=i < n, other=0.0))
    tl.store(out_ptr, total / count)


class ModelNew(nn.Module):
    def forward(self, logits, target):
        n, V = logits.shape
        losses = torch.empty(n, device=logits.device, dtype=torch.float32)
        valid = torch.empty_like(losses)
        out = torch.empty((), device=logits.device, dtype=logits.dtype)
        ce_rows[(n,)](logits, target, losses, valid, V, IGNORE=0, BLOCK=triton.next_power_of_2(V))
        mean_of_valid[(1,)](losses, valid, out, n, BLOCK=64)
        return out
