#!/usr/bin/env python3
"""The host's share of a call of optimized.py, without a GPU: what Python spends beside PyTorch's own steps.

    bench/host_time.py FOLDER/optimized.py ...

The tensors are on the CPU, and launches reach a compiled kernel that does nothing. So a launch is what the export
adds to Triton's launcher, and a call is model(x) without its steps. The checks of a call are in Python, or in C++
where the package kernelwright_host is installed.
Prints microseconds: of a launch, of a call that finds the model as the one before did (the least of some runs), and
of a call that is judged (the median). A parameter is a tensor of the model; the call's time is divided among them.
"""

import argparse
import importlib.util
import os
import pathlib
import statistics
import sys
import time

os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402  (the environment comes first)

RUNS, CALLS = 20, 200


def loaded(path):
    spec = importlib.util.spec_from_file_location("optimized", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def least_us(function):
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(CALLS):
            function()
        times.append((time.perf_counter() - start) / CALLS)
    return 1e6 * min(times)


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


def measure(path):
    """{"launches", "launch_us", "arguments", "call_us", "first_us", "parameters", "checks"} of one file."""
    module = loaded(path)
    model, inputs = module.ModelNew(*module.get_init_inputs()), module.get_inputs()
    compiled = Counted()
    launches = [part for name, part in vars(module).items() if name.startswith("_kw_launch_")]
    for launch in launches:
        launch.kernel = compiled
    where = (0, 0)
    module._kw_Call.where = lambda call: where
    if hasattr(module, "_kw_graph_settings"):
        model.graphed(False)
    with torch.inference_mode():
        for _ in range(2):
            model(*inputs)
        if model.__dict__.get("_kw_warned"):
            raise SystemExit("%s: its get_inputs() runs the original forward" % path)
        bound, tensors = model.__dict__.get("_kw_bound"), tuple(t for t in inputs if isinstance(t, torch.Tensor))
        if bound is None:
            raise SystemExit("%s: each call is judged again" % path)
        steps, results = module.ModelNew._kw_steps, bound.calls.popitem()[1].run(module.ModelNew._kw_steps, *tensors)
        out = {"parameters": len(bound.state), "launches": len(launches), "first_us": first_us(model._kw_bind, tensors),
               "checks": "Python" if module._kw_host is module._kw_Host else "C++"}
        module.ModelNew._kw_steps = staticmethod(lambda *_: results)
        out["call_us"] = least_us(lambda: model(*inputs))
        module.ModelNew._kw_steps = staticmethod(steps)
        if launches:
            # After the grid, stream, kernel, its metadata, and three that are None; before the constants.
            given = compiled.given[9:len(compiled.given) - len(launches[-1].last)]
            out["arguments"] = len(given)
            out["launch_us"] = least_us(lambda: launches[-1](where, *given))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", nargs="+", type=pathlib.Path)
    for path in parser.parse_args().export:
        found = measure(path)
        each = found["call_us"] / max(found["parameters"], 1)
        print("%s: a call %.1f us, of %d parameters (%.2f us a parameter), a judged one %.0f us, checks in %s"
              % (path.parent.name or path, found["call_us"], found["parameters"], each, found["first_us"],
                 found["checks"]), end="")
        if "launch_us" in found:
            print("; a launch of %d arguments %.2f us" % (found["arguments"], found["launch_us"]), end="")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
