# honest | family: autotune | mechanism: prune_configs_by early_config_prune drops blocks larger than the row
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)


def get_inputs():
    return [torch.randn(26, 200)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


def drop_small(configs, named_args, **kwargs):
    n = named_args["N"]
    return [c for c in configs if c.kwargs["BLOCK"] <= triton.next_power_of_2(n)] or configs[:1]


@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in [64, 256, 4096] for w in [2, 4]],
    key=["N"],
    prune_configs_by={"early_config_prune": drop_small},
)
@triton.jit
def rms(x_ptr, y_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * N
    y_ptr += row * N
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        c = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + c, mask=c < N, other=0.0).to(tl.float32)
        total += x * x
    r = 1 / tl.sqrt(tl.sum(total) / N + eps)
    for off in range(0, N, BLOCK):
        c = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + c, mask=c < N, other=0.0)
        tl.store(y_ptr + c, x * r, mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rms[(x.shape[0],)](x, y, x.shape[1], 1e-5)
        return y
