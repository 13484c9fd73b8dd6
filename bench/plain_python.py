"""optimized.py in plain PyTorch: equal to the original, and how fast, without Kernelwright; and
torch.compile's own version of the original beside it.

    python bench/plain_python.py FOLDER/optimized.py ... > plain.json

Builds Model and ModelNew under one seed, loads the original's state_dict into both, checks that the
outputs agree (relative RMS of the difference), and times them with CUDA events, the L2 cache flushed
between calls, interleaved. The device is held up until all is launched, so this is what the device needs;
worker/calls.py times calls as Python makes them. Prints one JSON object for each file: median
milliseconds ("device"), and the median of the paired ratios of eager to optimized and to torch.compile
(absent where it fails).
"""

import importlib.util
import json
import statistics
import sys
from pathlib import Path

import torch
import torch.utils._pytree as pytree

ROUNDS = 50
HOLD_CYCLES = 8_000_000  # some 4 ms: longer than Python takes to launch an example


def load(path: Path):
    spec = importlib.util.spec_from_file_location("optimized_" + path.parent.name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def relative_rms(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a.double(), b.double()
    scale = b.square().mean().sqrt()
    return float(((a - b).square().mean().sqrt() / scale).item()) if scale > 0 else float((a - b).abs().max())


def time_all(contestants: dict, inputs: list, flush: torch.Tensor) -> dict:
    times = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, model in contestants.items():
            flush.zero_()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(HOLD_CYCLES)
            start.record()
            model(*inputs)
            end.record()
            end.synchronize()
            times[name].append(start.elapsed_time(end))
    out = {name: {"ms": statistics.median(taken)} for name, taken in times.items()}
    for name, taken in times.items():
        out[name]["ratio"] = statistics.median(a / b for a, b in zip(times["eager"], taken))
    return out


def measure(path: Path) -> dict:
    module = load(path)
    torch.manual_seed(7)
    with torch.device("cuda"):
        original = module.Model(*module.get_init_inputs())
        optimized = module.ModelNew(*module.get_init_inputs())
        inputs = module.get_inputs()
    original, optimized = original.cuda(), optimized.cuda()
    missing = optimized.load_state_dict(original.state_dict())
    assert not missing.missing_keys and not missing.unexpected_keys, missing
    flush = torch.empty(128 << 20, dtype=torch.int8, device="cuda")
    with torch.inference_mode():
        want = pytree.tree_leaves(original(*inputs))
        got = pytree.tree_leaves(optimized(*inputs))
        assert not optimized.__dict__.get("_kw_warned"), "ModelNew ran the original forward"
        difference = max(relative_rms(a, b) for a, b in zip(got, want))
        contestants = {"eager": original, "optimized": optimized}
        try:
            compiled = torch.compile(original)
            for _ in range(3):
                compiled(*inputs)
            contestants["compile"] = compiled
        except Exception as error:
            print("%s: torch.compile: %.200s" % (path.parent.name, error), file=sys.stderr)
        device = time_all(contestants, inputs, flush)
    torch.compiler.reset()
    return {"example": path.parent.name, "difference_rms": difference, "device": device}


if __name__ == "__main__":
    # Where nothing was gained, optimized.py is the original.
    optimized = [Path(p) for p in sys.argv[1:] if "class ModelNew" in Path(p).read_text()]
    print(json.dumps([measure(path) for path in optimized], indent=1))
