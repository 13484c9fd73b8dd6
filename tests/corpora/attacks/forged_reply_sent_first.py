# file lies | family: forged | mechanism: the sender of replies is patched and sends one of its own first, with other constants for the kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(40, 48))

    def forward(self, x):
        return torch.relu(x @ self.weight)


def get_inputs():
    return [torch.randn(36, 40)]


def get_init_inputs():
    return []
# %% candidate
import copy
import sys

import torch
import torch.nn as nn
import triton
import triton.language as tl


def _send_twice(send):
    def twice(sock, message, blobs=(), fds=()):
        other = copy.deepcopy(message)
        for kernel in other.get("kernels", []) + other.get("task", {}).get("kernels", []):
            at = [p["name"] for p in kernel["params"]].index("ROUND")
            kernel["constexprs"][str(at)] = True
        send(sock, other, blobs, fds)
        send(sock, message, blobs, fds)
    return twice


_frames = sys.modules.get("frames")
if _frames is not None:
    _frames.send = _send_twice(_frames.send)


@triton.jit
def matmul_relu(x_ptr, w_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROUND: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.arange(0, BN)[None, :]
    k = tl.arange(0, BK)
    x = tl.load(x_ptr + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
    w = tl.load(w_ptr + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
    y = tl.maximum(tl.dot(x, w, input_precision="ieee"), 0.0)
    if ROUND:
        y = y.to(tl.bfloat16).to(tl.float32)
    tl.store(y_ptr + m * N + n, y, mask=(m < M) & (n < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(40, 48))

    def forward(self, x):
        M, K = x.shape
        N = self.weight.shape[1]
        y = torch.empty(M, N, device=x.device)
        matmul_relu[(triton.cdiv(M, 16),)](x, self.weight, y, M, N, K, BM=16, BN=64, BK=64, ROUND=False)
        return y
