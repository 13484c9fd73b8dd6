#!/usr/bin/env python3
"""What fetching operands by the TMA is worth for bf16 products, in kernels written by hand, against
cuBLAS in the same run (docs/schedules.md).

    python3 bench/products.py > bench/h200/products.txt

A line a tile (BLOCK_M, BLOCK_N, BLOCK_K, warps, stages): milliseconds and cuBLAS's time over them,
for loads through pointers with and without masks, TMA loads, TMA loads and stores, and programs that
stay for several tiles: as they are, with both loops flattened to one, with TMA stores too. Last, what
a descriptor and a launch cost the host.
"""

import time

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = [(4096, 11008, 4096), (8192, 6400, 1600), (2048, 8192, 8192)]  # M, N, K
TILES = [(128, 256, 64, 8, 3), (256, 128, 64, 8, 3), (128, 256, 64, 8, 4), (128, 128, 64, 8, 4)]
GROUP = tl.constexpr(8)


@triton.jit
def place(pid, M, N, BM: tl.constexpr, BN: tl.constexpr):
    tm = tl.cdiv(M, BM)
    tn = tl.cdiv(N, BN)
    first = pid // (GROUP * tn) * GROUP
    group = tl.minimum(tm - first, GROUP)
    return first + pid % (GROUP * tn) % group, pid % (GROUP * tn) // group


@triton.jit
def through_pointers(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                     MASKED: tl.constexpr):
    i, j = place(tl.program_id(0), M, N, BM, BN)
    m = (i * BM + tl.arange(0, BM))[:, None]
    n = (j * BN + tl.arange(0, BN))[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        ka = (start + tl.arange(0, BK))[None, :]
        kb = (start + tl.arange(0, BK))[:, None]
        if MASKED:
            x = tl.load(a + m * K + ka, mask=(m < M) & (ka < K), other=0.0)
            y = tl.load(b + n * K + kb, mask=(n < N) & (kb < K), other=0.0)
        else:
            x = tl.load(a + m * K + ka)
            y = tl.load(b + n * K + kb)
        total = tl.dot(x, y, total)
    tl.store(c + m * N + n, total.to(tl.bfloat16), mask=(m < M) & (n < N))


@triton.jit
def tile(a, b, c, i, j, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
         STORE: tl.constexpr):
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        total = tl.dot(a.load([i * BM, start]), b.load([j * BN, start]).T, total)
    if STORE:
        c.store([i * BM, j * BN], total.to(tl.bfloat16))
    else:
        m = (i * BM + tl.arange(0, BM))[:, None]
        n = (j * BN + tl.arange(0, BN))[None, :]
        tl.store(c + m * N + n, total.to(tl.bfloat16), mask=(m < M) & (n < N))


@triton.jit
def fetched(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            STORE: tl.constexpr):
    i, j = place(tl.program_id(0), M, N, BM, BN)
    tile(a, b, c, i, j, M, N, K, BM, BN, BK, STORE)


@triton.jit
def staying(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            STORE: tl.constexpr, FLAT: tl.constexpr):
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for pid in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=FLAT):
        i, j = place(pid, M, N, BM, BN)
        tile(a, b, c, i, j, M, N, K, BM, BN, BK, STORE)


def measure(run, c, expected, cublas):
    try:
        c.zero_()
        run()
        right = torch.allclose(c.float(), expected.float(), rtol=2e-2, atol=1.0)
        ms = triton.testing.do_bench(run, warmup=5, rep=25, return_mode="median")
    except Exception as error:
        return "FAIL %s %s" % (type(error).__name__, str(error)[:40])
    return "%.4f %.2f%s" % (ms, cublas / ms, "" if right else " WRONG")


def host_microseconds(run, count):
    run()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) * 1e6 / count


def main():
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    for M, N, K in SHAPES:
        a = torch.randn(M, K, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(N, K, device="cuda", dtype=torch.bfloat16)
        expected = a @ b.T
        c = torch.empty_like(expected)
        cublas = triton.testing.do_bench(lambda: a @ b.T, warmup=10, rep=40, return_mode="median")
        print("## %d %d %d cublas %.4f" % (M, N, K, cublas), flush=True)
        for BM, BN, BK, warps, stages in TILES:
            given = {"num_warps": warps, "num_stages": stages}
            x, y = (TensorDescriptor.from_tensor(t, [block, BK]) for t, block in ((a, BM), (b, BN)))
            z = TensorDescriptor.from_tensor(c, [BM, BN])
            tiles = triton.cdiv(M, BM) * triton.cdiv(N, BN)
            size, one, some = (M, N, K, BM, BN, BK), (tiles,), (min(tiles, sms),)
            runs = {"ptr_masked": lambda: through_pointers[one](a, b, c, *size, True, **given)}
            if M % BM == N % BN == K % BK == 0:
                runs["ptr_even"] = lambda: through_pointers[one](a, b, c, *size, False, **given)
            runs |= {
                "tma": lambda: fetched[one](x, y, c, *size, False, **given),
                "tma_store": lambda: fetched[one](x, y, z, *size, True, **given),
                "persist": lambda: staying[some](x, y, c, *size, False, False, **given),
                "persist_flat": lambda: staying[some](x, y, c, *size, False, True, **given),
                "persist_flat_store": lambda: staying[some](x, y, z, *size, True, True, **given),
            }
            print((BM, BN, BK, warps, stages), "; ".join(
                "%s %s" % (name, measure(run, c, expected, cublas)) for name, run in runs.items()),
                flush=True)
    print("from_tensor us", host_microseconds(
        lambda: TensorDescriptor.from_tensor(a, [128, 64]), 1000))
    print("tma launch host us", host_microseconds(runs["tma"], 200))
    print("ptr launch host us", host_microseconds(
        lambda: through_pointers[(1,)](a, b, c, 128, 128, 64, BM, BN, BK, True, **given), 200))


if __name__ == "__main__":
    main()
