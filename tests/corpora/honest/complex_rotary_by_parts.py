# honest | family: complex | mechanism: a rotation that the reference makes by complex numbers, on pairs of real ones
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(64.0), 1.0 / 1e4 ** (torch.arange(0, 64, 2) / 64))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(self, q):
        z = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
        turned = z * self.turns[:, None]
        return torch.view_as_real(turned).flatten(3).type_as(q), turned


def get_inputs():
    return [torch.randn(4, 64, 8, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rotate(q_ptr, turns_ptr, y_ptr, n_pairs, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n_pairs
    pair, position = i % 32, i // (32 * 8) % 64
    a = tl.load(q_ptr + 2 * i, mask=inside, other=0.0)
    b = tl.load(q_ptr + 2 * i + 1, mask=inside, other=0.0)
    turn = turns_ptr + 2 * (position * 32 + pair)
    c, s = tl.load(turn), tl.load(turn + 1)
    tl.store(y_ptr + 2 * i, a * c - b * s, mask=inside)
    tl.store(y_ptr + 2 * i + 1, a * s + b * c, mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(64.0), 1.0 / 1e4 ** (torch.arange(0, 64, 2) / 64))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(self, q):
        y, n = torch.empty_like(q), q.numel() // 2
        rotate[(triton.cdiv(n, 1024),)](q, torch.view_as_real(self.turns), y, n, BLOCK=1024)
        return y, torch.view_as_complex(y.view(4, 64, 8, 32, 2))
