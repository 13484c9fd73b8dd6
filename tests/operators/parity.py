"""Recorded and replayed against eager PyTorch: the table of operators, case by case.

Each case is recorded by the worker's recorder as a model of one call, its Program is replayed by the
executor (`replay_program`), and the same call is made by eager PyTorch on the same tensors, on the
same device. Results must be equal to the bit, or within ULPS where a library may choose another
algorithm; dtypes, shapes and strides must be what was recorded. A difference counts unless one of
REASONS explains it.

    python tests/operators/parity.py --tool build/replay_program [--backend cuda] [--cases 20]
        [--only Conv2d,Sum] [--out parity.json] [--verbose]
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import importlib.util
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "worker"), os.path.join(ROOT, "tests")]

import torch  # noqa: E402

from operators import OPERATORS  # noqa: E402
from recording import PROFILE, operator_table  # noqa: E402

ULPS = 4
EPS = {torch.float64: 2.0 ** -52, torch.float32: 2.0 ** -23, torch.float16: 2.0 ** -10,
       torch.bfloat16: 2.0 ** -7}
# (backend, operator pattern, what differs, why that is right). Patterns as in fnmatch.
REASONS = [
    ("cpu", "Conv*", "strides of result 0: recorded",
     "recorded is cuDNN's layout; the CPU's convolutions choose their own"),
    ("cpu", "Attention", "strides of result 0: recorded",
     "recorded is the layout of CUDA's fused attention kernels"),
    ("cpu", "PixelShuffle", "strides of result 0: recorded",
     "channel_shuffle keeps channels-last on the CPU alone"),
    ("cpu", "GroupNorm", "strides of result 0: recorded",
     "group_norm keeps channels-last on the CPU alone"),
    ("cpu", "Pad", "strides of result 0: recorded",
     "reflection and replication keep channels-last on the CPU alone"),
    ("cuda", "Attention", "strides of result 0: recorded",
     "flash attention pads heads to a multiple of 8; the replay copies into the recorded layout"),
    ("any", "FloorDivide", "strides of result 0: recorded",
     "fake tensors order the strides of permuted operands otherwise; the replay copies"),
    ("cpu", "LogSigmoid", "strides of result 0: recorded",
     "log_sigmoid keeps the operand's layout on CUDA alone"),
    ("cpu", "MaxUnpool2d", "strides of result 0: recorded",
     "max_unpool2d keeps channels-last on the CPU alone"),
]


# A dimension that is expanded has no place in the order of strides: PyTorch's fake tensors put it
# elsewhere than its kernels do. The replay copies into the recorded layout where that matters.
EXPANDED = "fake tensors order the strides of expanded operands otherwise"


def is_expanded(spec):
    return any(s == 0 and n > 1 for n, s in zip(spec.shape, spec.strides))


def reason_for(backend, case, difference):
    if difference.startswith("strides of result") and any(map(is_expanded, case.inputs)):
        return EXPANDED
    for where, name, what, why in REASONS:
        if where in (backend, "any") and fnmatch.fnmatch(case.operator, name) \
                and re.search(what, difference):
            return why
    return None


# ---- Recording, in processes that see no GPU

_table = {}


def start_recorder():
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    torch.set_num_threads(1)
    quiet()
    # As worker/zygote.py has it: there is no device to make a context on.
    torch._subclasses.fake_tensor.init_gpu_context = lambda device: None
    if torch.version.cuda is None:
        import ctypes
        path = os.path.join(ROOT, "tests", "worker", "conftest.py")
        spec = importlib.util.spec_from_file_location("worker_conftest", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        ctypes.CDLL(module.fake_cuda_device())
    _table.update(operator_table())


def quiet():
    """PyTorch warns of much that a drawn call may do, and logs what fails on fake tensors."""
    warnings.filterwarnings("ignore")
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)


def record_text(text, cls, inputs):
    """The Task of a class in a source text, called with tensors like `inputs`; raises Refused."""
    import recorder
    return recorder.record({
        "kind": "record", "source": text, "file": "model.py", "folder": None, "class": cls,
        "profile": PROFILE, "operators": _table, "init_inputs": False,
        "inputs": [spec.metadata(i) for i, spec in enumerate(inputs)]})["task"]


def record(case):
    """The Task's forward and result, or the refusal's text."""
    from refusal import Refused
    try:
        task = record_text(case.source(), "Model", case.inputs)
        return task["forward"], task["result"], None
    except Refused as refused:
        return None, None, str(refused)


# ---- The two runs

def run_eager(case, device):
    """(the call's tensors in order, the arguments after it), or PyTorch's complaint."""
    arguments = [t.to(device) if t.is_contiguous() and t.storage_offset() == 0 else
                 moved(t, device) for t in case.tensors()]
    scope = {}
    exec(compile(case.source(), case.name(), "exec"), scope)
    torch.manual_seed(case.seed())
    try:
        with torch.inference_mode():
            return flatten(scope["Model"]()(*arguments)), arguments, None
    except Exception as error:  # whatever PyTorch raises is its refusal of the call
        return None, None, str(error).split("\n")[0] or type(error).__name__


def moved(tensor, device):
    """The same view of the same storage, elsewhere."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    flat = torch.as_strided(tensor, (count,), (1,), 0).to(device)
    return torch.as_strided(flat, tensor.shape, tensor.stride(), tensor.storage_offset())


def flatten(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [t for v in value for t in flatten(v)] if isinstance(value, (list, tuple)) or \
        hasattr(value, "__iter__") and not isinstance(value, str) else []


def storage_bytes(tensor):
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    flat = torch.as_strided(tensor, (count,), (1,), 0)
    return flat.view(torch.uint8).numpy().tobytes() if count else b""


class Tool:
    """One replay_program process, started again when a case ends it."""

    def __init__(self, binary, backend, folder):
        self.command = [binary, "--backend", backend]
        self.inputs, self.outputs = (os.path.join(folder, n) for n in ("inputs", "outputs"))
        self.process = None

    def ask(self, request):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            return {"failed": "the executor died with %d" % self.process.wait()}
        return json.loads(line)

    def run(self, program, case):
        """(tensors of the outputs and overwritten inputs, their Values, which inputs), or the
        failure's text."""
        with open(self.inputs, "wb") as file:
            for tensor in case.tensors():
                file.write(storage_bytes(tensor))
        reply = self.ask({"program": program, "inputs": self.inputs, "outputs": self.outputs,
                          "seed": case.seed()})
        if "failed" in reply:
            return None, None, None, reply["failed"]
        values = list(reply["outputs"])
        values += [{"dtype": case.inputs[i].dtype, "shape": case.inputs[i].shape}
                   for i in reply["overwritten"]]
        with open(self.outputs, "rb") as file:
            tensors = [read_tensor(file, value) for value in values]
        return tensors, reply["outputs"], reply["overwritten"], None

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def read_tensor(file, value):
    dtype = getattr(torch, value["dtype"])
    count = 1
    for size in value["shape"]:
        count *= size
    data = bytearray(file.read(count * dtype.itemsize))
    if not count:
        return torch.empty(tuple(value["shape"]), dtype=dtype)
    return torch.frombuffer(data, dtype=dtype).reshape(tuple(value["shape"]))


# ---- Comparison

def layout(value):
    """Strides of dimensions that have more than one element."""
    if 0 in value["shape"]:
        return []
    return [s for n, s in zip(value["shape"], value["strides"]) if n != 1]


def describe(tensor):
    return {"dtype": str(tensor.dtype)[6:], "shape": list(tensor.shape),
            "strides": list(tensor.stride())}


def metadata_difference(recorded, eager, replayed):
    if len(recorded) != len(eager):
        return "recorded %d results, PyTorch gives %d" % (len(recorded), len(eager))
    for i, (record_, e, r) in enumerate(zip(recorded, map(describe, eager), replayed)):
        for key in ("dtype", "shape"):
            if not list(record_[key]) == list(e[key]) == list(r[key]):
                return "%s of result %d: recorded %s, PyTorch %s, replayed %s" % (
                    key, i, record_[key], e[key], r[key])
        if layout(record_) != layout(e):
            return "strides of result %d: recorded %s, PyTorch %s" % (
                i, record_["strides"], e["strides"])
        if layout(r) != layout(e):
            return "strides of result %d: replayed %s, PyTorch %s" % (
                i, r["strides"], e["strides"])
    return None


def value_difference(got, expected):
    """What differs, and by how many units in the last place of the largest element."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return "is %s %s, expected %s %s" % (got.dtype, tuple(got.shape), expected.dtype,
                                             tuple(expected.shape)), 0
    if not expected.dtype.is_floating_point:
        wrong = int((got != expected).sum())
        return ("%d of %d elements differ" % (wrong, got.numel()) if wrong else None), 0
    if torch.equal(got.nan_to_num(0.0), expected.nan_to_num(0.0)) and \
            torch.equal(got.isnan(), expected.isnan()):
        return None, 0
    finite = torch.isfinite(expected)
    if not torch.equal(finite, torch.isfinite(got)):
        return "finite in other places", 0
    if not torch.equal(got[~finite].nan_to_num(0.0, 1.0, -1.0),
                       expected[~finite].nan_to_num(0.0, 1.0, -1.0)):
        return "another kind of infinity", 0
    a, b = got[finite].double(), expected[finite].double()
    scale = max(float(b.abs().max()) if b.numel() else 0.0, 1e-30)
    ulps = float((a - b).abs().max()) / (scale * EPS[expected.dtype])
    return ("%.3g ulps apart" % ulps if ulps > ULPS else None), ulps


# ---- One case, all cases

class Outcome:
    """kind: equal, close, refused (by both), unable (this device has no kernel), explained or
    different."""

    def __init__(self, kind, detail="", ulps=0.0):
        self.kind, self.detail, self.ulps = kind, detail, ulps


def judge(case, recorded, tool, backend, device):
    forward, _, refusal = recorded
    eager, arguments, complaint = run_eager(case, device)
    if complaint is not None:
        if forward is None:
            return Outcome("refused", complaint)
        # Recorded for CUDA, but this device has no kernel for it: the replay must fail too.
        _, _, _, failure = tool.run(forward, case)
        return Outcome("refused" if failure else "different",
                       complaint if failure else "PyTorch refuses (%s), the replay runs" % complaint)
    if forward is None:
        return differ(backend, case, "not recorded: " + refusal)
    tensors, values, overwritten, failure = tool.run(forward, case)
    if failure:
        return differ(backend, case, "not replayed: " + failure)
    recorded_values = [forward["values"][v] for v in forward["outputs"]]
    difference = metadata_difference(recorded_values, unique(eager), values)
    worst = 0.0
    expected = [t.cpu() for t in unique(eager)] + [arguments[i].cpu() for i in overwritten]
    for i, (got, want) in enumerate(zip(tensors, expected)):
        if difference:
            break
        difference, ulps = value_difference(got, want)
        difference = difference and "result %d: %s" % (i, difference)
        worst = max(worst, ulps)
    difference = difference or unrecorded_write(case, arguments, overwritten)
    if difference:
        return differ(backend, case, difference)
    return Outcome("close" if worst else "equal", "", worst)


def unique(tensors):
    """Each tensor once: a result that is the same view twice is recorded once."""
    out, seen = [], set()
    for tensor in tensors:
        key = (tensor.untyped_storage()._cdata, tensor.dtype, tensor.shape, tensor.stride(),
               tensor.storage_offset())
        if key not in seen:
            seen.add(key)
            out.append(tensor)
    return out


def unrecorded_write(case, arguments, overwritten):
    for i, (before, after) in enumerate(zip(case.tensors(), arguments)):
        same = torch.equal(before.nan_to_num(), after.cpu().nan_to_num()) \
            if before.is_floating_point() else torch.equal(before, after.cpu())
        if not same and i not in overwritten:
            return "PyTorch overwrites argument %d, the record does not say so" % i
    return None


def differ(backend, case, difference):
    reason = reason_for(backend, case, difference)
    return Outcome("explained" if reason else "different", reason or difference)


def draw_cases(count, only=None, seed=0):
    return [op.case(i, seed) for op in OPERATORS.values() if not only or op.name in only
            for i in range(max(1, round(count * op.weight)))]


def compare(cases, tool_path, backend, workers=None):
    """Yields (case, Outcome)."""
    device = torch.device("cuda", 0) if backend == "cuda" else torch.device("cpu")
    workers = workers or max(1, min(os.cpu_count() or 1, 16))
    context = __import__("multiprocessing").get_context("spawn")
    quiet()
    with concurrent.futures.ProcessPoolExecutor(workers, context, start_recorder) as pool, \
            tempfile.TemporaryDirectory() as folder:
        tool = Tool(tool_path, backend, folder)
        for case, recorded in zip(cases, pool.map(record, cases, chunksize=16)):
            yield case, judge(case, recorded, tool, backend, device)
        tool.close()


def summary(results, backend, seconds):
    """What is committed: per operator the number of cases by outcome, and each difference."""
    operators = {}
    for case, outcome in results:
        row = operators.setdefault(case.operator, collections.Counter())
        row[outcome.kind] += 1
    differences = [{"case": case.name(), "call": case.call, "dtypes": [i.dtype for i in case.inputs],
                    "difference": outcome.detail}
                   for case, outcome in results if outcome.kind == "different"]
    explained = collections.Counter(outcome.detail for _, outcome in results
                                    if outcome.kind == "explained")
    totals = collections.Counter(outcome.kind for _, outcome in results)
    name = torch.cuda.get_device_name(0) if backend == "cuda" else "CPU"
    return {"device": name, "torch": torch.__version__, "seconds": round(seconds, 1),
            "cases": len(results), "outcomes": dict(totals), "explained": dict(explained),
            "largest_difference_ulps": round(max((o.ulps for _, o in results), default=0), 2),
            "differences": differences,
            "operators": {k: dict(v) for k, v in sorted(operators.items())}}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, help="the replay_program binary")
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--cases", type=float, default=20, help="of each operator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only")
    parser.add_argument("--out", help="write the summary there, as JSON")
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--verbose", action="store_true", help="print each difference")
    options = parser.parse_args()
    started = time.perf_counter()
    only = options.only.split(",") if options.only else None
    results = []
    for case, outcome in compare(draw_cases(options.cases, only, options.seed), options.tool,
                                 options.backend, options.workers):
        results.append((case, outcome))
        if outcome.kind == "different" or (options.verbose and outcome.kind == "refused"):
            print("%s %s: %s\n    %s\n    %s" % (
                outcome.kind, case.name(), outcome.detail, case.call,
                [(i.shape, i.dtype, i.strides) for i in case.inputs]))
    out = summary(results, options.backend, time.perf_counter() - started)
    if options.out:
        with open(options.out, "w") as file:
            json.dump(out, file, indent=1)
            file.write("\n")
    print("%d operators, %d cases on %s: %s; %.0f s" % (
        len(out["operators"]), out["cases"], out["device"], out["outcomes"], out["seconds"]))
    return 1 if out["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
