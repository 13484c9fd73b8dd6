# honest | family: language | mechanism: tl.device_assert, tl.device_print and tl.static_print left in the kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 20)

    def forward(self, ids):
        return self.emb(ids) * 1.5


def get_inputs():
    return [torch.randint(0, 30, (17,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lookup(ids_ptr, w_ptr, y_ptr, V, D, DEBUG: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_print("BLOCK", BLOCK)
    row = tl.program_id(0)
    token = tl.load(ids_ptr + row)
    tl.device_assert((token >= 0) & (token < V), "token out of range")
    d = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + token * D + d, mask=d < D)
    if DEBUG:
        tl.device_print("token", token)
    tl.store(y_ptr + row * D + d, w * 1.5, mask=d < D)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 20)

    def forward(self, ids):
        y = torch.empty(ids.shape[0], 20, device=ids.device)
        lookup[(ids.shape[0],)](ids, self.emb.weight, y, 30, 20, DEBUG=False, BLOCK=32)
        return y
