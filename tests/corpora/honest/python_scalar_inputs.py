# honest | family: host | mechanism: inputs are a tensor list, a float, an int, a flag, a string and None
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, xs, alpha, power, flag, mode, extra=None):
        y = xs[0] * alpha + xs[1] ** power
        if flag and mode == "tanh":
            y = torch.tanh(y)
        return y if extra is None else y + extra


def get_inputs():
    return [[torch.randn(300), torch.randn(300)], 0.75, 2, True, "tanh", None]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def blend(a_ptr, b_ptr, e_ptr, y_ptr, n, alpha, POWER: tl.constexpr, TANH: tl.constexpr, EXTRA: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    b = tl.load(b_ptr + i, mask=m)
    p = b
    for _ in tl.static_range(POWER - 1):
        p *= b
    y = tl.load(a_ptr + i, mask=m) * alpha + p
    if TANH:
        y = libdevice.tanh(y)
    if EXTRA:
        y += tl.load(e_ptr + i, mask=m)
    tl.store(y_ptr + i, y, mask=m)


class ModelNew(nn.Module):
    def forward(self, xs, alpha, power, flag, mode, extra=None):
        a, b = xs
        y = torch.empty_like(a)
        blend[(triton.cdiv(a.numel(), 128),)](a, b, extra, y, a.numel(), alpha, POWER=power, TANH=flag and mode == "tanh",
                                             EXTRA=extra is not None, BLOCK=128)
        return y
