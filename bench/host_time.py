#!/usr/bin/env python3
"""The host's share of a call of optimized.py: what Python spends beside PyTorch's own steps.

    bench/host_time.py [--gpu] [--json] FOLDER/optimized.py ...

Prints microseconds: of a launch, of a call that finds the model as the one before did, which is model(x) without its
steps (both the least of some runs), and of a call that is judged (the median). With --gpu also of a call with its
steps, by launches and by a CUDA graph. A parameter is a tensor of the model; the call's time is divided among them.
The checks of a call are in Python, or in C++ where the package kernelwright_host is installed.

Without --gpu the tensors are on the CPU, and launches reach a compiled kernel that does nothing: a launch is then what
the export adds to Triton's launcher.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import sys
import time

GPU = "--gpu" in sys.argv
if not GPU:
    os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402  (the environment comes first)

RUNS, CALLS = 20, 20 if GPU else 200  # the GPU takes some hundred launches ahead


def loaded(path):
    spec = importlib.util.spec_from_file_location("optimized", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def least_us(function):
    times = []
    for _ in range(RUNS):
        synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            function()
        times.append((time.perf_counter() - start) / CALLS)
    synchronize()
    return 1e6 * min(times)


def synchronize():
    if GPU:
        torch.cuda.synchronize()


def first_us(bind, arguments):
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        bind(*arguments)
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


class Counted:
    """What Triton compiled, which does nothing, and the arguments of its last launch."""

    function, packed_metadata = 0, ()

    def __getitem__(self, grid):
        return lambda *args, **named: self

    def run(self, *args):
        self.given = args


def counted(module, launches):
    """Launches of the export do nothing from now on."""
    compiled = Counted()
    for launch in launches:
        launch.kernel = compiled
    module._kw_Call.where = lambda call: (0, 0)


class Seen:
    """The arguments of the last launch."""

    def __init__(self, module):
        self.launch = module._kw_Launch.__call__
        module._kw_Launch.__call__ = lambda *given: self(*given)

    def __call__(self, launch, where, *args):
        self.of, self.given = launch, (where, *args)
        return self.launch(launch, where, *args)


def without_driver(seen):
    """Measures {"own_us"} of a launch with an empty grid, for which kernelwright_host does all but call the driver."""
    launch, gpu = seen.of, seen.given[0][0]
    grid, direct = launch.grid, launch.direct.get(gpu)
    if direct is None:
        return {}
    launch.grid = 0, 1, 1
    launch.direct[gpu] = launch.directly(launch.compiled[gpu])
    own = least_us(lambda: seen.launch(launch, *seen.given))
    launch.grid, launch.direct[gpu] = grid, direct
    return {"own_us": own}


def measure(path):
    """{"launches", "launch_us", "arguments", "call_us", "first_us", "parameters", "checks"} of one file, and on a GPU
    {"launched_us", "graphed_us", "own_us"}."""
    module = loaded(path)
    with torch.device("cuda" if GPU else "cpu"):
        model, inputs = module.ModelNew(*module.get_init_inputs()), module.get_inputs()
    launches = [part for name, part in vars(module).items() if name.startswith("_kw_launch_")]
    if not GPU:
        counted(module, launches)
    seen = Seen(module) if launches else None
    graphs = hasattr(module, "_kw_graph_settings")
    if graphs:
        model.graphed(False)
    with torch.inference_mode():
        for _ in range(3):
            model(*inputs)
        if model.__dict__.get("_kw_warned"):
            raise SystemExit("%s: its get_inputs() runs the original forward" % path)
        bound, tensors = model.__dict__.get("_kw_bound"), tuple(t for t in inputs if isinstance(t, torch.Tensor))
        if bound is None:
            raise SystemExit("%s: each call is judged again" % path)
        out = {"parameters": len(bound.state), "launches": len(launches),
               "checks": "Python" if module._kw_host is module._kw_Host else "C++"}
        if launches:
            out["arguments"] = len(seen.given) - 1
            out["launch_us"] = least_us(lambda: seen.launch(seen.of, *seen.given))
            if GPU and out["checks"] == "C++":
                out.update(without_driver(seen))
        steps, results = module.ModelNew._kw_steps, next(iter(bound.calls.values())).run(model, *tensors)
        module.ModelNew._kw_steps = staticmethod(lambda *_: results)
        out["call_us"] = least_us(lambda: model(*inputs))
        module.ModelNew._kw_steps = staticmethod(steps)
        if launches:
            module._kw_Launch.__call__ = seen.launch
        if GPU:
            out["launched_us"] = least_us(lambda: model(*inputs))
        if GPU and graphs:
            model.graphed()
            model(*inputs)
            out["graphed_us"] = least_us(lambda: model(*inputs))
        out["first_us"] = first_us(model._kw_bind, tensors)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", nargs="+", type=pathlib.Path)
    parser.add_argument("--gpu", action="store_true", help="on a GPU, with its real launches")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each file")
    options = parser.parse_args()
    for path in options.export:
        found = measure(path)
        if options.json:
            print(json.dumps({"export": path.parent.name, **found}), flush=True)
            continue
        each = found["call_us"] / max(found["parameters"], 1)
        print("%s: a call %.1f us, of %d parameters (%.2f us a parameter), a judged one %.0f us, checks in %s"
              % (path.parent.name or path, found["call_us"], found["parameters"], each, found["first_us"],
                 found["checks"]), end="")
        if GPU:
            print("; with its steps %.1f us by launches, %.1f us by a graph"
                  % (found["launched_us"], found.get("graphed_us", float("nan"))), end="")
        if "launch_us" in found:
            own = ", %.2f us of it without the driver's call" % found["own_us"] if "own_us" in found else ""
            print("; a launch of %d arguments %.2f us%s" % (found["arguments"], found["launch_us"], own), end="")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
