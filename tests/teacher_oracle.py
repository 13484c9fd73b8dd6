"""The teacher against PyTorch: fragments, many schedules, the interpreter of the cpu backend.

A fragment is a few lines of PyTorch. The recorder turns them into a Task, the teacher writes
kernels for it, those are recorded, sliced and interpreted on CPU tensors like any candidate's, and
the result is compared with PyTorch's own in float64, by the error that PyTorch itself makes in the
fragment's dtypes.

    python tests/teacher_oracle.py --emit build/teacher_emit [--random 200] [--schedules 6]
    python tests/teacher_oracle.py --emit build/teacher_emit --compile    # for sm_90, no GPU needed
"""

import argparse
import ctypes
import json
import os
import random
import subprocess
import sys
import traceback
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "worker"), os.path.join(ROOT, "tests", "worker")]

import numpy as np  # noqa: E402
import torch  # noqa: E402

import replay  # noqa: E402
from recording import PROFILE  # noqa: E402


@dataclass
class Input:
    shape: tuple
    dtype: str = "float32"
    order: tuple = ()        # permutation of a contiguous tensor's dimensions
    positive: bool = False
    special: str = ""        # of "nan", "inf", "-inf", "ties", "zero": what some elements are

    def make(self, generator):
        dtype = getattr(torch, self.dtype)
        shape = [self.shape[d] for d in self.order] if self.order else list(self.shape)
        if generator is None:
            t = torch.empty(shape, dtype=dtype, device="meta")
        elif dtype == torch.bool:
            t = torch.rand(shape, generator=generator) < 0.5
        elif dtype.is_floating_point:
            t = torch.randn(shape, generator=generator, dtype=torch.float64)
            t = (t.abs() + 0.1 if self.positive else t).to(dtype)
            t = self.sprinkled(t, generator)
        else:
            t = torch.randint(0 if dtype == torch.uint8 else -20, 20, shape,
                              generator=generator).to(dtype)
        if self.order:
            inverse = [self.order.index(d) for d in range(len(self.order))]
            t = t.permute(inverse)
        return t


    def sprinkled(self, t, generator):
        for what in self.special.split():
            if what == "ties":
                t = (t * 2).round()
                continue
            chosen = torch.rand(t.shape, generator=generator) < 0.04
            t = torch.where(chosen, torch.tensor(float(what.replace("zero", "0")), dtype=t.dtype), t)
            if what == "-inf" and t.dim() > 1:
                t[..., 0] = float("-inf")
                t[0] = float("-inf")
        return t


@dataclass
class Fragment:
    name: str
    body: str                # statements; `a0`, `a1`, ... are arguments; sets `out`
    inputs: list
    refused: bool = False    # the teacher need not write it
    tags: set = field(default_factory=set)

    def source(self):
        names = ", ".join("a%d" % i for i in range(len(self.inputs)))
        lines = "\n".join("        " + line for line in self.body.splitlines())
        return ("import torch\nimport torch.nn.functional as F\n\n\nclass Model(torch.nn.Module):\n"
                "    def forward(self, %s):\n%s\n        return out\n" % (names, lines))


class Teacher:
    """The teacher_emit tool: one task a line in, proposals out."""

    def __init__(self, binary, count):
        self.operators = json.loads(subprocess.run([binary, "--operators"], check=True,
                                                   capture_output=True, text=True).stdout)
        self.process = subprocess.Popen([binary, "--lines", str(count)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def propose(self, task):
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("teacher_emit died")
        return json.loads(line)


def metadata(tensors):
    return [{"dtype": str(t.dtype)[6:], "shape": list(t.shape), "strides": list(t.stride()),
             "offset": 0, "storage": i} for i, t in enumerate(tensors)]


class Unrecordable(Exception):
    """PyTorch itself does not run the fragment."""


def record(source, cls, tensors, operators):
    import recorder
    from refusal import Refused
    request = {"kind": "record", "source": source, "file": "fragment.py", "folder": None,
               "class": cls, "profile": PROFILE, "operators": operators,
               "inputs": metadata(tensors), "init_inputs": False}
    try:
        return recorder.record(request)
    except Refused as refused:
        raise Unrecordable(str(refused))


def as_fragment(task):
    """What cutting makes of a recorded function: nothing but the forward program matters here."""
    task = dict(task)
    task["kernels"] = []
    return task


def flatten(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for v in value.values() for t in flatten(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flatten(v)]
    return []


def structure(value):
    if isinstance(value, torch.Tensor):
        return "T"
    if isinstance(value, dict):
        return {k: structure(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__] + [structure(v) for v in value]
    return value


def laid_out(results, program):
    """Results with the strides that were recorded, which candidates must have to the last one. The
    CPU's own say little: some operators choose the layout by the library that they run on."""
    values = iter([program["values"][i] for i in program["outputs"]])

    def move(tree):
        if isinstance(tree, torch.Tensor):
            value = next(values)
            return torch.empty_strided(value["shape"], value["strides"], dtype=tree.dtype).copy_(tree)
        if isinstance(tree, dict):
            return {k: move(v) for k, v in tree.items()}
        if isinstance(tree, (list, tuple)):
            return type(tree)([move(v) for v in tree])
        return tree

    return move(results)


def run_model(source, tensors):
    scope = {"__name__": "fragment"}
    exec(compile(source, "fragment.py", "exec"), scope)
    with torch.inference_mode():
        return scope["Model"]()(*tensors)


def run_candidate(source, tensors, operators):
    """The result of ModelNew: recorded, its launches interpreted one by one."""
    from interpreter import front_end, launch_arguments
    from machine import Machine
    from memory import Memory
    from slicer import Slicer
    reply = record(source, "ModelNew", tensors, operators)
    slicer = Slicer(source, "candidate.py")
    texts = [front_end(raw, slicer.slice(raw)) for raw in reply["kernels"]]

    def launch(step, values):
        buffers, args = [], []
        for arg in step["args"]:
            if isinstance(arg, dict) and "v" in arg:
                tensor = values[arg["v"]]
                storage = tensor.untyped_storage()
                view = (ctypes.c_uint8 * storage.nbytes()).from_address(storage.data_ptr())
                args.append({"buffer": len(buffers),
                             "offset": tensor.storage_offset() * tensor.element_size()})
                buffers.append(np.frombuffer(view, np.uint8))
            else:
                args.append(arg)
        raw = reply["kernels"][step["launch"]]
        arguments = launch_arguments(raw, {"args": args, "buffers": [{}] * len(buffers)})
        Machine(texts[step["launch"]], raw["name"], Memory(buffers)).launch(step["grid"], arguments)

    task = reply["task"]
    outputs = replay.run(task["forward"], tensors, launch)
    return replay.build(task["result"], outputs, "out")


def widened(tensors):
    return [t.double() if t.is_floating_point() else t for t in tensors]


def wide_source(source):
    for name in ("float32", "float16", "bfloat16"):
        source = source.replace("torch." + name, "torch.float64")
    return source.replace(".half()", ".double()").replace(".float()", ".double()")


def error_of(got, oracle):
    """(relative RMS, worst over RMS) over finite elements."""
    got, oracle = got.double(), oracle.double()
    finite = torch.isfinite(oracle) & torch.isfinite(got)
    if not finite.any():
        return 0.0, 0.0
    scale = oracle[finite].square().mean().sqrt().item() or 1.0
    difference = (got - oracle)[finite]
    return (difference.square().mean().sqrt().item() / scale, difference.abs().max().item() / scale)


EPS = {torch.float64: 2.0 ** -52, torch.float32: 2.0 ** -23, torch.float16: 2.0 ** -10,
       torch.bfloat16: 2.0 ** -7}


def compare(got, eager, oracle):
    """A complaint, or nothing."""
    if structure(got) != structure(eager):
        return "structure %s, expected %s" % (structure(got), structure(eager))
    for i, (g, e, o) in enumerate(zip(flatten(got), flatten(eager), flatten(oracle))):
        if g.dtype != e.dtype or g.shape != e.shape:
            return "out%d is %s %s, expected %s %s" % (i, g.dtype, tuple(g.shape), e.dtype,
                                                       tuple(e.shape))
        if g.stride() != e.stride():
            return "out%d has strides %s, expected %s" % (i, g.stride(), e.stride())
        if not e.dtype.is_floating_point:
            wrong = (g != e).sum().item()
            if wrong:
                return "out%d: %d of %d elements differ" % (i, wrong, e.numel())
            continue
        if not torch.equal(torch.isfinite(g), torch.isfinite(e)):
            return "out%d: finite in other places" % i
        special = ~torch.isfinite(e)
        if not torch.equal(g[special].double(), e[special].double()) and not torch.allclose(
                g[special].double(), e[special].double(), equal_nan=True):
            return "out%d: other infinities or NaN" % i
        rms, worst = error_of(g, o)
        own_rms, own_worst = error_of(e, o)
        # Few elements can be right by luck, and in float64 PyTorch is its own oracle.
        lenience = 64 if e.dtype == torch.float64 else 4 if e.numel() < 64 else 1
        floor = lenience * EPS[e.dtype]
        if rms > 4 * own_rms + 2 * floor or worst > 8 * own_worst + 4 * floor:
            return "out%d: rms error %.3g (PyTorch %.3g), worst %.3g (%.3g)" % (
                i, rms, own_rms, worst, own_worst)
    return None


def copied(tensors):
    return [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype).copy_(t) for t in tensors]


def equal(a, b):
    return torch.equal(a.nan_to_num(), b.nan_to_num()) if a.is_floating_point() else \
        torch.equal(a, b)


def compare_arguments(before, got, eager, oracle):
    """What PyTorch overwrites must hold the same afterwards, and the rest what it held."""
    for i, (b, g, e, o) in enumerate(zip(before, got, eager, oracle)):
        complaint = compare(g, e, o) if not equal(b, e) else None if equal(b, g) else "was changed"
        if complaint:
            return "argument %d: %s" % (i, complaint)
    return None


def check(fragment, teacher, seed, show=None):
    """(number of schedules tried, [(plan, source, complaint)]). One complaint without a source when
    the teacher refused what it should write."""
    from refusal import Refused
    generator = torch.Generator().manual_seed(seed)
    tensors = [spec.make(generator) for spec in fragment.inputs]
    source = fragment.source()
    reply = record(source, "Model", tensors, teacher.operators)
    answer = teacher.propose(as_fragment(reply["task"]))
    if not answer["proposals"]:
        ops = [s.get("op") for s in reply["task"]["forward"]["steps"]]
        return 0, [] if fragment.refused else [
            ("", "", "refused: %s\n  %s" % (answer["refusal"], ops))]
    eager_after, oracle_after = copied(tensors), copied(widened(tensors))
    eager = laid_out(run_model(source, eager_after), reply["task"]["forward"])
    oracle = run_model(wide_source(source), oracle_after)
    complaints = []
    for proposal in answer["proposals"]:
        after = copied(tensors)
        if show:
            print(proposal["plan"] + "\n" + proposal["source"])
        try:
            got = run_candidate(proposal["source"], after, teacher.operators)
            complaint = compare(got, eager, oracle) or compare_arguments(
                tensors, after, eager_after, oracle_after)
        except (Exception, Refused):
            complaint = traceback.format_exc(limit=-4)
        if complaint:
            complaints.append((proposal["plan"], proposal["source"], complaint))
    return len(answer["proposals"]), complaints


def check_compile(fragment, teacher):
    """The same fragments through record, slice and compile for sm_90."""
    import compiler
    from refusal import Refused
    tensors = [spec.make(None) for spec in fragment.inputs]
    reply = record(fragment.source(), "Model", tensors, teacher.operators)
    answer = teacher.propose(as_fragment(reply["task"]))
    complaints = []
    for proposal in answer["proposals"]:
        try:
            made = record(proposal["source"], "ModelNew", tensors, teacher.operators)
            built, _ = compiler.compile_kernels({
                "source": proposal["source"], "file": "fragment.py", "arch": "sm_90",
                "kernels": made["kernels"]})
            for kernel in built["kernels"]:
                compiled = kernel["kernel"]["compiled"]
                print("%-28s %-90s registers %3d spills %3d shared %6d" % (
                    fragment.name, proposal["plan"].strip()[-90:], compiled["registers"],
                    compiled["spills"], compiled["shared"]))
                if compiled["shared"] > PROFILE["shared_per_block"]:
                    complaints.append((proposal["plan"], proposal["source"], "shared memory"))
        except (Exception, Refused) as error:
            complaints.append((proposal["plan"], proposal["source"],
                               "%s\n%s" % (error, traceback.format_exc(limit=-3))))
    return len(answer["proposals"]), complaints


# ---- Fragments

def unit_fragments():
    """Dimensions of size 1, whose strides say nothing and are recorded all the same."""
    I, F, last = Input, Fragment, (0, 2, 3, 1)
    x, plain, image = I((6, 20, 1, 1), order=last), I((6, 20, 1, 1)), I((3, 20, 4, 4), order=last)
    v = I((20,))
    return [
        F("unit_pointwise", "out = F.relu(a0) * 2", [x]),
        F("unit_pointwise_plain", "out = F.relu(a0) + a1, a1 * a0", [x, plain]),
        F("unit_views", "y = a0 * 2\nout = y.transpose(1, 2), y[:, :1] + 1", [x]),
        F("unit_unsqueeze", "out = (a0 + 1).unsqueeze(1).transpose(0, 1)", [I((5, 7))]),
        F("unit_mean", "out = a0.mean((2, 3), keepdim=True)", [image]),
        F("unit_amax", "out = a0.amax(1, keepdim=True)", [image]),
        F("unit_sum", "out = a0.sum((0, 2), keepdim=True)", [image]),
        F("unit_softmax", "out = torch.softmax(a0, 1)", [x]),
        F("unit_cumsum", "out = a0.cumsum(1)", [x]),
        F("unit_norms", "out = F.group_norm(a0, 4, a1, a2)", [x, v, v]),
        F("unit_batch_norm", "out = F.batch_norm(a0, a1, a2, training=False)",
          [x, v, I((20,), positive=True)]),
        F("unit_pool", "out = F.adaptive_avg_pool2d(a0, 1)", [image]),
        F("unit_max_pool", "out = F.max_pool2d(a0, 4)", [image]),
        F("unit_upsample", "out = F.interpolate(a0, scale_factor=2)",
          [I((3, 1, 4, 4), order=last)]),
        F("unit_cat", "out = torch.cat([a0, a1], 1)", [x, x]),
        F("unit_cat_one", "out = torch.cat([a0, a1], 2)", [x, x]),
        F("unit_flip", "out = a0.flip(1)", [x]),
        F("unit_roll", "out = a0.roll(3, 1)", [x]),
        F("unit_pad", "out = F.pad(a0, (0, 0, 0, 0, 2, 1))", [x]),
        F("unit_clone", "out = (a0 + 0).contiguous(), a0.clone(), a0.to(torch.float64)", [x]),
        F("unit_to_last", "out = (a0 + 0).contiguous(memory_format=torch.channels_last)", [plain]),
        F("unit_where", "out = torch.where(a0 > 0, a1, 0.0)", [x, I((1, 20, 1, 1), order=last)])]


def fixed_fragments():
    I, F = Input, Fragment
    x = I((6, 40))
    image = I((3, 12, 5, 7))
    out = [
        F("relu", "out = F.relu(a0)", [x]),
        F("tail", "y = F.gelu(a0 + a1)\ny = y * torch.sigmoid(y) + 0.5\nout = torch.tanh(y) * a0",
          [I((6, 40)), I((40,))]),
        F("bias_channels", "out = F.relu(a0 + a1[:, None, None]) * a2",
          [image, I((12,)), I((3, 12, 5, 7))]),
        F("transposed", "out = a0 + a1.t()", [I((33, 20)), I((20, 33))]),
        F("self_transposed", "out = a0 + a0.t()", [I((24, 24))]),
        F("outer", "out = a0[:, None] * a0[None, :]", [I((24,))]),
        F("permuted_result", "out = F.silu(a0).permute(0, 2, 3, 1)", [image]),
        F("channels_last", "out = F.relu(a0) + a1", [I((3, 12, 5, 7), order=(0, 2, 3, 1)),
                                                     I((3, 12, 5, 7), order=(0, 2, 3, 1))]),
        F("mixed", "out = a0.half() * a1 + a2.to(torch.float16)",
          [I((5, 33)), I((5, 33), "float16"), I((5, 33), "int32")]),
        F("ints", "out = (a0 * 3 - a1).abs(), a0 > 2, (a0 + a1).to(torch.float32) / 3",
          [I((50,), "int32"), I((50,), "int64")]),
        F("int8", "out = a0 * 7 + a1, torch.where(a0 > a1, a0, a1)",
          [I((50,), "int8"), I((50,), "int8")]),
        F("bools", "out = (a0 & ~a1) | (a2 > 0), torch.logical_not(a2 > 1)",
          [I((50,), "bool"), I((50,), "bool"), I((50,), "float32")]),
        F("where", "out = torch.where(a0 > 0, a1, torch.zeros_like(a1)).masked_fill(a2, -1e9)",
          [x, x, I((6, 40), "bool")]),
        F("fp64", "out = F.gelu(a0) * 0.1 + torch.clamp(a1, 0.3, 0.7)",
          [I((50,), "float64"), I((50,), "float64")]),
        F("activations", "out = F.softplus(a0) + F.elu(a0) + F.mish(a0) + F.hardswish(a0) + "
          "F.leaky_relu(a0, 0.2) + F.hardtanh(a0) + F.selu(a0) + F.logsigmoid(a0) + F.softsign(a0)",
          [x]),
        F("powers", "out = a0 ** 2 + a0 ** 3 - a1 ** 0.5 + a1 ** -0.5 + 1 / a1 + a1 ** 1.7",
          [x, I((6, 40), positive=True)]),
        F("logs", "out = torch.log(a0) + torch.log1p(a0) + torch.expm1(a1) + torch.exp(a1) + "
          "torch.sin(a1) * torch.cos(a1) + torch.sqrt(a0) + torch.rsqrt(a0) + torch.erf(a1)",
          [I((6, 40), positive=True), x]),
        F("small_tanh", "out = torch.tanh(a0 * 1e-4)", [x]),
        F("glu", "y, z = a0.chunk(2, -1)\nout = F.silu(y) * z", [I((6, 40))]),
        F("glu_of_linear", "out = F.glu(F.linear(a0, a1, a2), -1)",
          [I((70, 45)), I((64, 45)), I((64,))]),
        F("packed_swiglu", "y, z = F.linear(a0, a1).chunk(2, -1)\nout = F.silu(y) * z",
          [I((3, 20, 45)), I((64, 45))]),
        F("part_of_tail", "y = torch.exp(a0 * a1)\nout = y[:, 3:33:2] + y[:, 5].unsqueeze(1)",
          [x, I((40,))]),
        F("qkv", "y = F.linear(a0, a1, a2).view(2, 6, 3, 4, 8)\n"
          "q, k, v = y.permute(2, 0, 3, 1, 4).unbind(0)\nout = q * 0.3, k + 0, v * 1",
          [I((2, 6, 24)), I((96, 24)), I((96,))]),
        F("part_of_norm", "y = F.layer_norm(a0, (40,))\nout = y[2:5] * 2", [x]),
        F("heads", "out = (a0.view(2, 6, 4, 8).transpose(1, 2) * a1).contiguous()",
          [I((2, 6, 32)), I((2, 4, 6, 8))]),
        F("causal", "m = torch.triu(torch.ones(9, 9, device=a0.device, dtype=torch.bool), 1)\n"
          "out = a0.masked_fill(m, float('-inf'))", [I((2, 9, 9))]),
        F("tril", "out = torch.tril(a0, 1) + torch.triu(a0)", [I((2, 9, 12))]),
        F("scalar_tensor", "out = a0 * a1", [x, I(())]),
        F("several", "y = a0 * 2\nout = {'y': y, 'z': [torch.relu(y), (y + 1,)]}", [x]),
        F("strided_slice", "out = a0[:, 1::2] + a0[:, ::2]", [I((6, 40))]),
        F("expand", "out = a0.expand(6, 40) + 1", [I((40,))]),
        F("inplace", "y = a0 + 1\ny.mul_(2)\ny.relu_()\nout = y + 1", [x]),
        F("stale", "y = a0 + 1\nz = y * 2\nv = y.view(-1)\ny.mul_(2)\nout = v + z.view(-1)", [x],
          refused=True),
        F("half", "out = F.silu(a0) * a1", [I((6, 40), "float16"), I((6, 40), "float16")]),
        F("bfloat", "out = F.gelu(a0 * a1) + a0", [I((6, 40), "bfloat16"), I((40,), "bfloat16")]),
        F("half_jump", "y = a0 * a1\nout = y > 0.5, torch.floor(y * 3)",
          [I((6, 400), "float16"), I((6, 400), "float16")]),

        F("sum_all", "out = (a0 * 2).sum()", [x]),
        F("mean_rows", "out = (a0 - a1).square().mean()", [I((40, 50)), I((40, 50))]),
        F("sum_inner", "out = a0.sum(-1), a0.mean(-1, keepdim=True)", [x]),
        F("sum_outer", "out = a0.sum(0) * 2", [I((70, 33))]),
        F("sum_middle", "out = F.relu(a0).amax(1)", [I((5, 21, 9))]),
        F("sum_two", "out = a0.sum((1, 3))", [image]),
        F("sum_int", "out = a0.sum(-1), a0.amax(-1)", [I((6, 40), "int32")]),
        F("sum_bool", "out = a0.sum(), (a0.sum(-1))", [I((6, 40), "bool")], refused=True),
        F("any_all", "out = a0.any(-1), a0.all(-1)", [I((6, 40), "bool")]),
        F("argmax", "out = a0.argmax(-1), a0.argmin(-1)", [I((6, 40), "float32")]),
        F("argmax_all", "out = a0.argmax()", [I((6, 40), "float32")]),
        F("argmax_ties", "out = a0.argmax(1)", [I((5, 41, 6), "int32")]),
        F("max_dim", "v, i = a0.max(1)\nout = v * 2, i", [I((5, 41, 6))]),
        F("var", "out = a0.var(-1), a0.std(-1, unbiased=False)", [x]),
        F("norm2", "n = torch.linalg.vector_norm(a0, dim=-1)\n"
          "out = n, a0 / torch.norm(a0, dim=-1, keepdim=True)", [x]),
        F("logsumexp", "out = torch.logsumexp(a0 * 3, -1)", [x]),
        F("softmax", "out = torch.softmax(a0, -1)", [I((6, 40))]),
        F("softmax_middle", "out = torch.softmax(a0, 1)", [I((5, 21, 9))]),
        F("temperature", "out = torch.log_softmax(a0 / 0.7, -1)", [I((6, 300))]),
        F("masked_softmax", "out = torch.softmax((a0 * 0.125).masked_fill(a1, float('-inf')), -1)",
          [I((2, 3, 9, 33)), I((9, 33), "bool")], tags={"bool_row"}),
        F("softmax_half", "out = torch.softmax(a0.float(), -1).half()", [I((6, 40), "float16")]),
        F("layer_norm", "out = F.layer_norm(a0, (40,), a1, a2)", [x, I((40,)), I((40,))]),
        F("layer_norm2", "out = F.layer_norm(a0, (5, 7), a1, a2)",
          [image, I((5, 7)), I((5, 7))]),
        F("add_layer_norm_gelu", "y = a0 + a1\nout = F.gelu(F.layer_norm(y, (40,), a2, a3)), y",
          [x, x, I((40,)), I((40,))]),
        F("rms_norm", "out = a0 * torch.rsqrt(a0.pow(2).mean(-1, keepdim=True) + 1e-6) * a1",
          [x, I((40,))]),
        F("rms_norm_whole", "out = F.rms_norm(a0, (40,), a1)", [x, I((40,))]),
        F("rms_norm_half", "y = a0.float()\n"
          "out = (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).half() * a1",
          [I((6, 40), "float16"), I((40,), "float16")]),
        F("group_norm", "out = F.relu(F.group_norm(a0, 4, a1, a2))", [image, I((12,)), I((12,))]),
        F("instance_norm", "out = F.instance_norm(a0) * 2", [image]),
        F("batch_norm", "out = F.relu(F.batch_norm(a0, a1, a2, a3, a4, False))",
          [image, I((12,)), I((12,), positive=True), I((12,)), I((12,))]),
        F("batch_norm_batch", "out = F.batch_norm(a0, None, None, a1, a2, True)",
          [image, I((12,)), I((12,))]),
        F("norm_of_two", "out = F.layer_norm(a0, (40,)) + F.layer_norm(a1, (40,))", [x, x]),
        F("row_and_column", "out = a0.sum(0) + a0.sum(1)", [I((24, 24))]),
        F("center", "out = a0 - a0.mean(-1, keepdim=True)", [I((6, 40), order=(1, 0))]),
        F("long_rows", "out = torch.softmax(a0, -1) + a1", [I((2, 9000)), I((9000,))]),
        F("long_sum", "out = (a0 * a0).mean(), (a0 * a0).sum()", [I((3, 30000))]),

        F("mm", "out = a0 @ a1", [I((70, 45)), I((45, 37))]),
        F("mm_transposed", "out = a0.t() @ a1.t()", [I((45, 70)), I((37, 45))]),
        F("linear", "out = F.linear(a0, a1, a2)", [I((3, 21, 45)), I((37, 45)), I((37,))]),
        F("linear_tail", "y = F.linear(a0, a1, a2)\nout = F.gelu(y) * 0.5 + a3, torch.sigmoid(y)",
          [I((70, 45)), I((37, 45)), I((37,)), I((70, 37))]),
        F("linear_prologue", "out = F.relu(F.linear(F.silu(a0) * a1, a2))",
          [I((70, 45)), I((45,)), I((37, 45))]),
        F("swiglu", "out = F.silu(F.linear(a0, a1)) * F.linear(a0, a2)",
          [I((70, 45)), I((37, 45)), I((37, 45))]),
        F("addmm", "out = torch.addmm(a0, a1, a2, beta=0.5, alpha=2)",
          [I((37,)), I((70, 45)), I((45, 37))]),
        F("bmm", "out = torch.bmm(a0, a1) * 0.3", [I((4, 33, 20)), I((4, 20, 35))]),
        F("scores", "out = (a0 @ a1.transpose(-1, -2)) * 0.25 + a2",
          [I((2, 3, 33, 20)), I((2, 3, 35, 20)), I((33, 35))]),
        F("baddbmm", "out = torch.baddbmm(a0, a1, a2, beta=0.5, alpha=2)",
          [I((4, 33, 35)), I((4, 33, 20)), I((4, 20, 35))]),
        F("matmul_broadcast", "out = torch.relu(a0 @ a1)", [I((2, 3, 17, 20)), I((3, 20, 35))]),
        F("mv", "out = a0 @ a1 + 1", [I((70, 45)), I((45,))]),
        F("vm", "out = F.linear(a0, a1, a2)", [I((1, 45)), I((37, 45)), I((37,))]),
        F("heads_of_linear", "out = F.linear(a0, a1).view(2, 6, 4, 8).transpose(1, 2)",
          [I((2, 6, 24)), I((32, 24))]),
        F("linear_half", "out = F.relu(F.linear(a0, a1, a2))",
          [I((70, 45), "float16"), I((37, 45), "float16"), I((37,), "float16")]),
        F("linear_bfloat", "out = F.linear(a0 * 2, a1) + a2",
          [I((70, 45), "bfloat16"), I((37, 45), "bfloat16"), I((37,), "bfloat16")]),
        F("linear_softmax", "out = torch.softmax(F.linear(a0, a1), -1)", [I((70, 45)), I((37, 45))],
          refused=True),
    ]
    return out


def large_fragments():
    """Of the size that a GPU is for: only compiled, to see registers, spills and shared memory."""
    I, F = Input, Fragment
    return [
        F("big_tail", "out = torch.tanh(F.gelu(a0 + a1) * 0.7) * a2",
          [I((4096, 8192)), I((8192,)), I((4096, 8192))]),
        F("big_channels", "out = F.relu(a0 + a1[:, None, None])",
          [I((64, 128, 56, 56)), I((128,))]),
        F("big_transposed", "out = a0 + a1.t()", [I((4096, 4096)), I((4096, 4096))]),
        F("big_layer_norm", "out = F.layer_norm(a0 + a1, (4096,), a2, a3)",
          [I((16384, 4096)), I((16384, 4096)), I((4096,)), I((4096,))]),
        F("big_rms_norm", "out = a0 * torch.rsqrt(a0.pow(2).mean(-1, keepdim=True) + 1e-6) * a1",
          [I((8192, 2048)), I((2048,))]),
        F("big_log_softmax", "out = torch.log_softmax(a0 / 0.7, -1)", [I((2048, 50257))]),
        F("big_softmax_short", "out = torch.softmax(a0, -1)", [I((65536, 128))]),
        F("big_group_norm", "out = F.silu(F.group_norm(a0, 32, a1, a2))",
          [I((16, 256, 64, 64)), I((256,)), I((256,))]),
        F("big_sum_outer", "out = a0.sum(0)", [I((16384, 4096))]),
        F("big_mean", "out = (a0 - a1).square().mean()", [I((8192, 8192)), I((8192, 8192))]),
        F("big_linear", "out = F.gelu(F.linear(a0, a1, a2)) * 0.5 + a3",
          [I((1024, 8192)), I((8192, 8192)), I((8192,)), I((1024, 8192))]),
        F("big_swiglu", "out = F.silu(F.linear(a0, a1)) * F.linear(a0, a2)",
          [I((2048, 1024)), I((2816, 1024)), I((2816, 1024))]),
        F("big_head", "y = 30.0 * torch.tanh((a0 + a1) / 30.0)\n"
          "p = torch.log_softmax(y / 0.8, -1)\nout = p, -(p.exp() * p).sum(-1)",
          [I((1024, 16384)), I((16384,))]),
        F("big_linear_tail", "y = F.gelu(F.linear(a0, a1, a2)) * a2 + a3\n"
          "y = torch.clamp(y, -4.0, 4.0)\ny = y * torch.sigmoid(1.7 * y)\n"
          "out = F.hardtanh(y / 2.0) + 0.1 * torch.tanh(y)",
          [I((2048, 1024)), I((4096, 1024)), I((4096,)), I((4096,))]),
        F("big_mm", "out = a0 @ a1", [I((4096, 4096)), I((4096, 4096))]),
        F("big_linear_half", "out = F.relu(F.linear(a0, a1, a2))",
          [I((4096, 4096), "bfloat16"), I((4096, 4096), "bfloat16"), I((4096,), "bfloat16")]),
        F("big_small_m", "out = F.silu(F.linear(a0, a1))", [I((8, 4096)), I((11008, 4096))]),
        F("big_scores", "out = (a0 @ a1.transpose(-1, -2)) * 0.125",
          [I((8, 16, 1024, 64)), I((8, 16, 1024, 64))]),
    ]


def prologue_fragments():
    """Products of what is computed as it is loaded: what that takes of shared memory counts."""
    I, F = Input, Fragment
    a, b, image = I((2048, 1024)), I((1024, 2048)), I((8, 64, 56, 56))
    half = [I((2048, 1024), "bfloat16"), I((1024, 2048), "bfloat16")]
    return [
        F("big_relu_mm", "out = torch.relu(a0) @ a1", [a, b]),
        F("big_computed_mm", "out = (a0 * a2) @ (a1 + a3)", [a, b, a, b]),
        F("big_computed_mm_half", "out = (a0 * a2) @ (a1 + a3)", half + half),
        F("big_pool_mm", "out = F.max_pool1d(a0, 5, stride=1, padding=0, dilation=2) @ a1",
          [I((64, 280, 293)), I((64, 285, 512))]),
        F("big_rows_mm", "out = a0[a2] @ a1", [a, b, I((2048,), "int64")]),
        F("big_scores_softmax", "out = torch.softmax((a0 + a2) @ a1, -1)",
          [a, I((1024, 128)), a]),
        F("big_computed_conv", "out = F.conv2d(F.relu(a0) * a2, a1 * a1, None, 1, 1)",
          [image, I((128, 64, 3, 3)), image]),
    ]


UNARY = ["F.relu({})", "torch.sigmoid({})", "torch.tanh({})", "F.gelu({})", "F.silu({})", "-{}",
         "torch.abs({})", "{} * 0.5", "{} + 1.25", "2 - {}", "torch.clamp({}, -1, 1.5)",
         "torch.exp(torch.clamp({}, max=2.0))", "F.softplus({})", "torch.cos({})", "{} ** 2",
         "F.leaky_relu({}, 0.1)", "F.hardsigmoid({})", "F.gelu({}, approximate='tanh')"]
BINARY = ["{} + {}", "{} - {}", "{} * {}", "torch.maximum({}, {})", "torch.minimum({}, {})",
          "{} / (torch.abs({}) + 0.5)", "torch.where({} > 0.1, {}, 0.25)",
          "torch.add({}, {}, alpha=0.3)", "torch.lerp({}, {}, 0.3)"]


def random_fragment(rng, index):
    """Broadcast operands of mixed dtypes, a random expression, perhaps one reduction or norm in
    its middle."""
    rank = rng.randint(1, 4)
    limit = 4096
    shape = []
    for _ in range(rank):
        shape.append(rng.choice([n for n in (1, 2, 3, 5, 8, 16, 17, 33, 64, 130) if n <= limit]))
        limit //= shape[-1]
        limit = max(limit, 1)
    inputs = []
    for _ in range(rng.randint(1, 4)):
        own = [1 if rng.random() < 0.2 else n for n in shape]
        own = own[rng.choice([0, 0, 0, rng.randint(0, rank - 1)]):]
        dtype = rng.choice(["float32"] * 6 + ["float16", "bfloat16", "float64", "int32", "int64",
                                              "bool"])
        order = tuple(rng.sample(range(len(own)), len(own))) if rng.random() < 0.3 else ()
        inputs.append(Input(tuple(own), dtype, order))
    inputs[0] = Input(tuple(shape), rng.choice(["float32", "float32", "float16", "bfloat16"]),
                      inputs[0].order if len(inputs[0].order) == rank else ())
    lines, floats = [], ["a0"]
    for i, spec in enumerate(inputs[1:], 1):
        if spec.dtype in ("int32", "int64", "bool"):
            lines.append("b%d = a%d %s a0" % (i, i, rng.choice("+*")))
            floats.append("b%d" % i)
        else:
            floats.append("a%d" % i)
    values = list(floats)

    def grow(n):
        for _ in range(n):
            name = "v%d" % len(lines)
            if rng.random() < 0.5 or len(values) < 2:
                text = rng.choice(UNARY).format(rng.choice(values))
            else:
                text = rng.choice(BINARY).format(rng.choice(values), rng.choice(values))
            lines.append("%s = %s" % (name, text))
            values.append(name)

    grow(rng.randint(1, 4))
    kind = rng.choice(["none", "none", "reduce", "center", "softmax", "norm", "chain"])
    full = "(a0 + %s)" % values[-1]
    outputs = None
    dims = sorted(rng.sample(range(rank), rng.randint(1, rank)))
    op = rng.choice(["mean({d}, keepdim=True)", "sum({d}, keepdim=True)", "amax({d}, keepdim=True)",
                     "amin({d}, keepdim=True)", "var({d}, keepdim=True, unbiased=False)"])
    if kind == "reduce":
        keep = rng.choice(["True", "False"])
        lines.append("r = %s.%s" % (full, op.format(d=tuple(dims)).replace("True", keep, 1)
                                    if "var" not in op else op.format(d=tuple(dims))))
        lines.append("out = " + rng.choice(UNARY).format("r"))
        outputs = True
    elif kind == "center":
        lines.append("s = %s" % full)
        lines.append("s = s - s.%s" % op.format(d=tuple(dims)))
        values.append("s")
        grow(rng.randint(0, 3))
    elif kind == "softmax":
        lines.append("s = %s(%s, %d)" % (rng.choice(["torch.softmax", "torch.log_softmax"]), full,
                                         rng.randrange(rank)))
        values.append("s")
        grow(rng.randint(0, 2))
    elif kind == "norm":
        tail = shape[rng.randint(0, rank - 1):]
        lines.append("s = F.layer_norm(%s.float(), %s)" % (full, tuple(tail)))
        values.append("s")
        grow(rng.randint(0, 2))
    elif kind == "chain":
        lines.append("s = %s" % full)
        lines.append("m = s.%s" % op.format(d=tuple(dims)))
        lines.append("s = torch.exp(torch.clamp(s - m, -3, 1))")
        lines.append("s = s / (0.1 + s.sum(%s, keepdim=True))" % (tuple(dims),))
        values.append("s")
        grow(rng.randint(0, 2))
    if outputs is None:
        last = values[-1] if rng.random() < 0.7 else "(%s, %s)" % (values[-1], values[-2])
        lines.append("out = (lambda t: t * 1.5 if isinstance(t, torch.Tensor) else "
                     "tuple(u * 1.5 for u in t))(%s)" % last)
        if rng.random() < 0.2 and rank > 1 and not last.startswith("("):
            lines.append("out = out.transpose(0, -1)")
    return Fragment("random%d" % index, "\n".join(lines), inputs, refused=True)


def random_matmul(rng, index):
    m, n = rng.choice([2, 16, 33, 64, 70]), rng.choice([3, 16, 40, 64])
    k = rng.choice([8, 20, 45, 64])
    batch = rng.choice([(), (), (2,), (2, 3)])
    dtype = rng.choice(["float32", "float32", "float16", "bfloat16"])
    swap = lambda s, o: (tuple(s), tuple(range(len(s) - 2)) + (len(s) - 1, len(s) - 2) if o else ())
    a, ao = swap(batch + (m, k), rng.random() < 0.3)
    b, bo = swap((batch if rng.random() < 0.5 else ()) + (k, n), rng.random() < 0.5)
    inputs = [Input(a, dtype, ao), Input(b, dtype, bo), Input((n,), dtype),
              Input(batch + (m, n), dtype)]
    prologue = rng.choice(["a0", "a0", "F.relu(a0)", "a0 * 0.5 + a0.sigmoid()"])
    lines = ["y = %s @ a1" % prologue]
    for _ in range(rng.randint(0, 3)):
        lines.append("y = " + rng.choice(UNARY + ["{} + a2", "{} * a3"]).format("y"))
    lines.append("out = y + a2, y * a3" if rng.random() < 0.3 else "out = y + a2 + a3")
    return Fragment("matmul%d" % index, "\n".join(lines), inputs)


# ---- The command line, here and in teacher_copies.py and teacher_convolutions.py

def command_line(description):
    """What all of them take."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emit", default=os.environ.get("KERNELWRIGHT_TEACHER_EMIT"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="names of fragments, with commas")
    parser.add_argument("--show", action="store_true", help="print the source of what is tried")
    parser.add_argument("--sources", action="store_true", help="print the source of what fails")
    return parser


@dataclass
class Tally:
    tried: list = field(default_factory=list)    # the first of what `attempt` gave, of each
    refused: list = field(default_factory=list)  # fragments of which nothing was tried
    skipped: list = field(default_factory=list)  # (fragment, why PyTorch does not run it)
    failures: int = 0


def try_all(fragments, options, attempt):
    """`attempt` gives, for a fragment, what it tried and the complaints, which are printed here."""
    tally = Tally()
    for fragment in fragments:
        if options.only and fragment.name not in options.only.split(","):
            continue
        try:
            tried, complaints = attempt(fragment)
        except Unrecordable as why:
            tally.skipped.append((fragment, why))
            continue
        tally.tried.append(tried)
        if not tried:
            tally.refused.append(fragment)
        for plan, source, complaint in complaints:
            tally.failures += 1
            print("==== %s: %s\n%s\n%s\n%s" % (fragment.name, plan.strip(), fragment.body,
                                               fragment.inputs, complaint))
            if options.sources:
                print(source)
    return tally


def main():
    import teacher_products
    import teacher_rows
    parser = command_line(__doc__)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--matmul", type=int, default=0)
    parser.add_argument("--rows", type=int, default=0, help="reductions and scans")
    parser.add_argument("--products", type=int, default=0, help="rows of products, reduced")
    parser.add_argument("--schedules", type=int, default=6)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    prepare()
    teacher = Teacher(options.emit, options.schedules)
    rng = random.Random(options.seed)
    counts = options.random + options.matmul + options.rows + options.products
    fragments = [] if counts and not options.only else (
        fixed_fragments() + unit_fragments() + teacher_rows.fragments() +
        teacher_products.fragments())
    if options.large:
        fragments = large_fragments() + prologue_fragments() + teacher_rows.large_fragments()
    fragments += [random_fragment(rng, i) for i in range(options.random)]
    fragments += [random_matmul(rng, i) for i in range(options.matmul)]
    fragments += [teacher_rows.random_fragment(rng, i) for i in range(options.rows)]
    fragments += [teacher_products.random_fragment(rng, i) for i in range(options.products)]

    def attempt(fragment):
        if options.compile:
            return check_compile(fragment, teacher)
        return check(fragment, teacher, options.seed, options.show)

    tally = try_all(fragments, options, attempt)
    print("%d fragments, %d schedules, %d refused, %d not PyTorch, %d failures" % (
        len(fragments), sum(tally.tried), len(tally.refused), len(tally.skipped), tally.failures))
    return 1 if tally.failures else 0


def fake_cuda_device():
    import importlib.util
    path = os.path.join(ROOT, "tests", "worker", "conftest.py")
    spec = importlib.util.spec_from_file_location("worker_conftest", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.fake_cuda_device()


def prepare():
    """Fake cuda tensors on a CPU build of torch."""
    if torch.version.cuda is None:
        ctypes.CDLL(fake_cuda_device())


if __name__ == "__main__":
    sys.exit(main())
