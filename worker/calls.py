"""Wall time of calls as Python makes them: of a reference in eager PyTorch, as torch.compile has it, and of
its optimized.py. The task "calls" of compile_server.py.

    {"task": "calls", "out": PATH of the times, "source": text of the model file, "folder": where it lies,
     "class": "Model", "optimized": text of optimized.py, "compile": whether torch.compile is asked,
     "seconds_to_measure": for all rounds together}

The times are a JSON object, in seconds a call (docs/formats/verdict.md, "calls").
"""

import json
import random
import statistics
import sys
import time
import warnings
from pathlib import Path

from baseline import load_module, made

ROUNDS = 5, 60  # at least, at most
ROUND_SECONDS = 2e-3  # of one contestant in one round
MOST_CALLS = 20
WARM_CALLS = 8  # torch.compile records its graphs in the second and third, and optimized.py chooses in the third
SEED = 7


def build(request, device):
    """Measures one request."""
    import torch
    out = Path(request["out"])
    paths = {name: out.with_suffix(".%s.py" % name) for name in ("reference", "optimized")}
    paths["reference"].write_text(request["source"])
    paths["optimized"].write_text(request["optimized"])
    reference = load_module(paths["reference"], request["folder"], "kernelwright_reference")
    optimized = load_module(paths["optimized"], request["folder"], "kernelwright_optimized")
    with torch.inference_mode():
        times = measured(reference, getattr(reference, request["class"]), optimized.ModelNew, device,
                         request["compile"], request["seconds_to_measure"])
    out.write_text(json.dumps(times))


def seeded(module, cls, device):
    """A model and its arguments, of normal tensors. All have equal weights."""
    import torch
    torch.manual_seed(SEED)
    with torch.inference_mode(False):
        return made(module, cls, device)


def contestants(module, reference, optimized, device, compiles):
    """{name: what is called}, and {name: why there is none}."""
    import torch
    eager, arguments = seeded(module, reference, device)
    runs, absent = {"eager": eager}, {}

    def ours(wanted):
        model = seeded(module, optimized, device)[0]
        model.load_state_dict(eager.state_dict())
        model._kw_graphed_by(wanted)
        return model

    attempts = {"launches": lambda: ours(False), "graph": lambda: ours(True), "called": lambda: ours(None)}
    if compiles:
        attempts["compile"] = lambda: torch.compile(eager)
        attempts["reduce_overhead"] = lambda: torch.compile(eager, mode="reduce-overhead")
    for name, make in attempts.items():
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                run = make()
                for _ in range(WARM_CALLS):
                    run(*arguments)
            said = [str(warning.message) for warning in said if "ModelNew: " in str(warning.message)]
            if name == "graph" and not is_graphed(run) or any("original forward" in text for text in said):
                absent[name] = said[0] if said else "calls go by launches"
            else:
                runs[name] = run
        except Exception as error:
            absent[name] = "%s: %.300s" % (type(error).__name__, error)
    return runs, absent, arguments


def synchronize(device):
    import torch
    if device == "cuda":
        torch.cuda.synchronize()


def one_round(run, arguments, calls, device):
    """(seconds until the last of some calls is begun, until all are done)."""
    synchronize(device)
    start = time.perf_counter()
    for _ in range(calls):
        run(*arguments)
    begun = time.perf_counter() - start
    synchronize(device)
    return begun, time.perf_counter() - start


def measured(module, reference, optimized, device, compiles, seconds):
    """The object of times."""
    runs, absent, arguments = contestants(module, reference, optimized, device, compiles)
    found = {name: {"wall": [], "latency": [], "host": []} for name in runs}
    counts = {}
    for name, run in runs.items():
        took = min(one_round(run, arguments, 1, device)[1] for _ in range(3))
        counts[name] = max(1, min(MOST_CALLS, int(ROUND_SECONDS / took)))
    end = time.monotonic() + seconds
    names, order = list(runs), random.Random(SEED)
    for number in range(ROUNDS[1]):
        if number >= ROUNDS[0] and time.monotonic() > end:
            break
        order.shuffle(names)
        for name in names:
            found[name]["wall"].append(one_round(runs[name], arguments, counts[name], device)[1] / counts[name])
            host, latency = one_round(runs[name], arguments, 1, device)
            found[name]["host"].append(host)
            found[name]["latency"].append(latency)
    out = {"absent": absent, "rounds": number + 1, "times": {}}
    for name, times in found.items():
        out["times"][name] = {what: statistics.median(taken) for what, taken in times.items()}
        # Rounds differ, so the ratio is taken within each.
        out["times"][name]["over_eager"] = statistics.median(
            a / b for a, b in zip(found["eager"]["wall"], times["wall"]))
    out["called_by"] = "graph" if "called" in runs and is_graphed(runs["called"]) else "launches"
    return out


def is_graphed(model):
    """Whether the last calls of an optimized.py replayed a CUDA graph."""
    bound = model.__dict__.get("_kw_bound")
    return bound is not None and bound.graphs is not None and any(bound.graphs.graphs.values())


def main():
    """For measurements: python worker/calls.py FOLDER/optimized.py ... prints a JSON object for each."""
    import torch
    for path in map(Path, sys.argv[1:]):
        module = load_module(path.resolve(), str(path.resolve().parent), "kernelwright_" + path.parent.name)
        with torch.inference_mode():
            times = measured(module, module.Model, module.ModelNew, "cuda", True, 3)
        print(json.dumps({path.parent.name: times}), flush=True)
        torch.compiler.reset()


if __name__ == "__main__":
    main()
