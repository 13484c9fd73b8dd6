#!/usr/bin/env python3
"""Verdicts a second of `kernelwright verify --batch`, by class of task.

    bench/throughput.py KERNELWRIGHT --out throughput.json [--backend cuda] [--only small,text]

Every candidate is right, so every stage runs; all differ in their kernels but where a class is about
candidates that do not. The rate counts from the moment when all workers have imported torch, which is
`start_s`, to the last verdict: each reference's first run is part of it, and of products and convolutions,
where that takes as long as three verdicts, every reference has 60 candidates.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

MODEL = """import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def forward(self, {args}):
        return {result}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""
HEAD = """import torch
import torch.nn as nn
import triton
import triton.language as tl

"""

POINTWISE = HEAD + """
@triton.jit
def pointwise(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    scale = {form}
    tl.store(y_ptr + at, {result}, mask=at < n)

class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pointwise[(triton.cdiv(x.numel(), {block}),)](x, y, x.numel(), BLOCK={block}, num_warps={warps})
        return y
"""
SOFTMAX = HEAD + """
@triton.jit
def rows(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < n
    x = tl.load(x_ptr + at, mask=inside, other=float("-inf"))
    scale = {form}
    e = tl.exp((x - tl.max(x, 0)) * scale)
    tl.store(y_ptr + at, e / tl.sum(e, 0), mask=inside)

class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps={warps})
        return y
"""
PRODUCT = HEAD + """
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + (start + k[:, None]) * N + n[None, :])
        acc = tl.dot(a, b, acc, input_precision="tf32x3")
    scale = {form}
    acc = {result}
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc * scale)

class ModelNew(nn.Module):
    def forward(self, a, b):
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty((M, N), device=a.device)
        product[(M // {bm}, N // {bn})](a, b, c, M, N, K, BM={bm}, BN={bn}, BK=32, num_warps={warps}, num_stages={stages})
        return c
"""
# A 1x1 convolution with a bias and a ReLU behind it, on contiguous images: PyTorch's own runs in TF32.
CONVOLUTION = HEAD + """
@triton.jit
def conv1x1(x_ptr, w_ptr, y_ptr, C, O, P, BO: tl.constexpr, BP: tl.constexpr, BC: tl.constexpr):
    image = tl.program_id(2)
    o = tl.program_id(0) * BO + tl.arange(0, BO)
    p = tl.program_id(1) * BP + tl.arange(0, BP)
    c = tl.arange(0, BC)
    acc = tl.zeros((BO, BP), tl.float32)
    for start in range(0, C, BC):
        w = tl.load(w_ptr + o[:, None] * C + start + c[None, :])
        x = tl.load(x_ptr + (image * C + start + c[:, None]) * P + p[None, :])
        acc = tl.dot(w, x, acc, input_precision="{precision}")
    scale = {form}
    tl.store(y_ptr + (image * O + o[:, None]) * P + p[None, :], tl.maximum(acc, 0.0) * scale)

class ModelNew(nn.Module):
    def forward(self, x, w):
        B, C, H, W = x.shape
        O = w.shape[0]
        y = torch.empty((B, O, H, W), device=x.device)
        conv1x1[(O // {bo}, H * W // {bp}, B)](x, w, y, C, O, H * W, BO={bo}, BP={bp}, BC=32, num_warps={warps}, num_stages={stages})
        return y
"""


def model(args, result, inputs):
    return MODEL.format(args=args, result=result, inputs=inputs)


def form(index):
    """An expression that is 1, and another one for every index: other code, the same meaning."""
    return "1.0 + 0.0 * %d" % index if index == 0 else "(%d.0 / %d.0)" % (index, index)


def pointwise_tasks(shape, count):
    tasks = []
    for torch_form, triton_form in (("x * torch.sigmoid(x)", "x * tl.sigmoid(x) * scale"),
                                    ("F.relu(x) * 2.0 + 1.0", "tl.maximum(x, 0.0) * 2.0 * scale + 1.0"),
                                    ("torch.where(x > 0, x, 0.1 * x)", "tl.where(x > 0, x, 0.1 * x) * scale")):
        reference = model("x", torch_form, "torch.randn(%s)" % shape)
        for i in range(count):
            tasks.append((reference, POINTWISE.format(
                form=form(i), result=triton_form, block=(1024, 2048, 4096)[i % 3],
                warps=(4, 8)[i // 3 % 2])))
    return tasks


def small_tasks(count):
    tasks = pointwise_tasks("64, 1000", count)
    for shape in ("128, 512", "37, 1000", "512, 256"):
        reference = model("x", "torch.softmax(x, 1)", "torch.randn(%s)" % shape)
        tasks += [(reference, SOFTMAX.format(form=form(i), warps=(1, 2, 4, 8)[i % 4]))
                  for i in range(count)]
    return tasks


def product_tasks(count):
    tasks = []
    for m, n, k in ((1024, 8192, 8192), (4096, 4096, 4096)):
        for torch_form, triton_form in (("a @ b", "acc"), ("F.relu(a @ b)", "tl.maximum(acc, 0.0)")):
            reference = model("a, b", torch_form,
                              "torch.randn(%d, %d), torch.randn(%d, %d)" % (m, k, k, n))
            for i in range(count):
                bm, bn, warps, stages = ((128, 128, 8, 3), (128, 64, 4, 3), (64, 128, 4, 4))[i % 3]
                tasks.append((reference, PRODUCT.format(form=form(i), result=triton_form, bm=bm, bn=bn,
                                                        warps=warps, stages=stages)))
    for b, c, o, side in ((16, 256, 256, 64), (64, 64, 128, 64)):
        reference = model("x, w", "F.relu(F.conv2d(x, w))",
                          "torch.randn(%d, %d, %d, %d), torch.randn(%d, %d, 1, 1)" % (b, c, side, side, o, c))
        for i in range(count):
            bo, bp, warps, stages = ((64, 128, 4, 3), (128, 128, 8, 3), (64, 64, 4, 4))[i % 3]
            tasks.append((reference, CONVOLUTION.format(form=form(i), bo=bo, bp=bp, warps=warps,
                                                        stages=stages, precision="tf32x3")))
    return tasks


def text_tasks(count):
    """The same slices under different texts."""
    return [(reference, "# candidate %d\n" % i + candidate)
            for reference, candidate in small_tasks(1) for i in range(count)]


def identical_tasks(count):
    return [task for task in small_tasks(1) for _ in range(count)]


# Class -> (tasks, what it must reach on one H200 with 16 cores, in verdicts a second).
CLASSES = {
    "elementwise_2gb": (lambda n: pointwise_tasks("16384, 32768", max(1, n // 3)), 4),
    "products": (lambda n: product_tasks(max(1, n // 6)), 12),
    "small": (lambda n: small_tasks(max(1, n // 6)), 50),
    "same_slices": (lambda n: text_tasks(max(1, n // 6)), 200),
    "identical": (lambda n: identical_tasks(max(1, n // 6)), 500),
}
COUNTS = {"elementwise_2gb": 48, "products": 360, "small": 600, "same_slices": 2400, "identical": 6000}


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def measure(tool, name, count, backend, jobs, executors, keep):
    tasks, target = CLASSES[name]
    with tempfile.TemporaryDirectory() as folder:
        batch, out = pathlib.Path(folder, "batch.jsonl"), pathlib.Path(folder, "results.jsonl")
        with batch.open("w") as file:
            for i, (reference, candidate) in enumerate(tasks(count)):
                print(json.dumps({"id": str(i), "reference_text": reference,
                                  "candidate_text": candidate}), file=file)
        command = [tool, "verify", "--batch", batch, "--out", out, "--backend", backend]
        for option, number in (("--jobs", jobs), ("--executors", executors)):
            command += [option, number] if number else []
        process = subprocess.run([*map(str, command)], capture_output=True, text=True)
        results = [json.loads(line) for line in out.read_text().splitlines()]
        if keep:
            pathlib.Path(keep, name + ".jsonl").write_text(out.read_text())
    started = min(r["finished"] - r["seconds"] for r in results)
    finished = max(r["finished"] for r in results)
    own = [r for r in results if not r.get("same_as")]
    outcomes = {}
    for r in results:
        outcome = r.get("outcome", "fault")
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    odd = [r.get("reason") or r.get("fault") for r in results if r.get("outcome") != "accepted"]
    stages = {stage: statistics.median(r["stages"][stage] for r in own if stage in r["stages"])
              for stage in ("record", "compile", "correct", "time")
              if any(stage in r.get("stages", {}) for r in own)}
    phases = {phase: statistics.median(r["phases"].get(phase, 0) for r in own)
              for phase in sorted({p for r in own for p in r.get("phases", {})})}
    references = sum(seconds for r in own for phase, seconds in r["phases"].items() if phase.startswith("reference"))
    return {"class": name, "executors": executors or "default", "target": target, "verdicts": len(results), "outcomes": outcomes,
            "verdicts_per_s": len(results) / (finished - started),
            "references_s": references,
            "verdicts_per_s_cached": len(results) / (finished - started - references),
            "judged": len(own), "start_s": started, "all_s": finished,
            "p50_s": quantile([r["seconds"] for r in results], 0.5),
            "p99_s": quantile([r["seconds"] for r in results], 0.99),
            "median_rounds": statistics.median([len(r["ratios"]) for r in own if "ratios" in r] or [0]),
            "median_stage_s": stages, "median_phase_s": phases, "odd": odd[:3], "says": process.stdout.splitlines()[:1],
            "error": process.stderr.splitlines()[-1:] if process.returncode else []}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernelwright")
    parser.add_argument("--out", required=True)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--only", default=",".join(CLASSES))
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--executors", default="0",
                        help="numbers of executors, each measured in turn; 0: as the tool chooses")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the batches' results there, CLASS.jsonl")
    parser.add_argument("--scale", type=float, default=1, help="of the number of candidates")
    arguments = parser.parse_args()
    rows = []
    turns = [(name, int(number)) for name in arguments.only.split(",") for number in arguments.executors.split(",")]
    for name, executors in turns:
        row = measure(arguments.kernelwright, name, int(COUNTS[name] * arguments.scale),
                      arguments.backend, arguments.jobs, executors, arguments.keep)
        rows.append(row)
        print("%-16s %-7s %7.1f verdicts/s (%g wanted)  p50 %.3f s  p99 %.3f s  start %.1f s  %s %s %s" % (
            name, row["executors"], row["verdicts_per_s"], row["target"], row["p50_s"], row["p99_s"], row["start_s"],
            row["outcomes"], row["says"], row["odd"][:1] + row["error"]), flush=True)
        pathlib.Path(arguments.out).write_text(json.dumps(
            {"command": "bench/throughput.py", "backend": arguments.backend,
             "cores": os.cpu_count(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
