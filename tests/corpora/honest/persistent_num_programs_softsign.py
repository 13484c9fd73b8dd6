# honest | family: persistent | mechanism: grid-stride loop over tiles with tl.num_programs, grid of min(tiles, SM count)
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, gate):
        return nn.functional.softsign(x) * torch.sigmoid(gate)


def get_inputs():
    return [torch.randn(37, 101), torch.randn(37, 101)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softsign_gate(x_ptr, g_ptr, out_ptr, n_elements, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    step = tl.num_programs(axis=0) * BLOCK
    for start in range(pid * BLOCK, n_elements, step):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n_elements
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        g = tl.load(g_ptr + offs, mask=mask, other=0.0)
        y = x / (1.0 + tl.abs(x)) * tl.sigmoid(g)
        tl.store(out_ptr + offs, y, mask=mask)


NUM_SMS = torch.cuda.get_device_properties("cuda").multi_processor_count


class ModelNew(nn.Module):
    def forward(self, x, gate):
        x = x.contiguous()
        gate = gate.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        BLOCK = 128
        grid = (min(NUM_SMS, triton.cdiv(n, BLOCK) // 3),)
        softsign_gate[grid](x, gate, out, n, BLOCK=BLOCK)
        return out
