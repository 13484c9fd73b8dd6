# honest | family: hybrid | mechanism: embedding gather with position add in Triton, projection by nn.Linear
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(60, 28)
        self.pos = nn.Embedding(20, 28)
        self.head = nn.Linear(28, 10)

    def forward(self, ids):
        p = torch.arange(ids.shape[1], device=ids.device)
        return self.head(torch.relu(self.tok(ids) + self.pos(p)))


def get_inputs():
    return [torch.randint(0, 60, (5, 17))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embed_relu(ids_ptr, tok_ptr, pos_ptr, out_ptr, T, D, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    m = d < D
    token = tl.load(ids_ptr + pid)
    h = tl.load(tok_ptr + token * D + d, mask=m) + tl.load(pos_ptr + (pid % T) * D + d, mask=m)
    tl.store(out_ptr + pid * D + d, tl.maximum(h, 0.0), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(60, 28)
        self.pos = nn.Embedding(20, 28)
        self.head = nn.Linear(28, 10)

    def forward(self, ids):
        B, T = ids.shape
        h = torch.empty(B, T, 28, device=ids.device)
        embed_relu[(B * T,)](ids, self.tok.weight, self.pos.weight, h, T, 28, BLOCK=32)
        return self.head(h)
