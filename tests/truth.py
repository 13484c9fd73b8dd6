"""The truth about an export, found in plain Python: PyTorch and Triton alone, no Kernelwright.

    python tests/truth.py REFERENCE.py OPTIMIZED.py [--backend cpu|cuda] [--calls 30] [--json]

A file that behaves otherwise while it is judged may lie about anything, but not about this test. It runs
ModelNew of OPTIMIZED.py in a fresh process next to Model of REFERENCE.py. Both get the same weights and
copies of the same fresh inputs. The export is true if all of the following hold:

1. The results, the inputs and the state after each call are equal, in each of STATES
   (truth_states.py) and under `python -O`. Floating-point numbers may differ by 8 times the
   reference's own error, which a run of the reference in float64 shows. They may always differ by
   16 units of rounding as a root mean square, and by 64 in the worst element.
2. Each call launches as many kernels as the text of the export does.
3. No call runs the original forward, except with other arguments. Then it has to.
4. The test fails for the same export without its stores.

Without a GPU, Triton's interpreter runs the kernels. With `--graphed`, calls on a GPU replay CUDA graphs where they
can; otherwise all go by launches. `--json` prints one object with the numbers of
"states", "calls", "launches" and "replays", and the list of "faults". The exit status is 1 if there are faults.

From Python: `truth(reference, optimized)` is the command, and `examine()` is its part for one process.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

from truth_calls import Pair, Run
from truth_equal import Fault
from truth_states import STATES
from truth_text import without_stores

UNDER_O = ("as constructed", "weights changed in place", "other arguments")


def prepare(backend):
    """Imports Triton, and completes its interpreter if that runs the kernels."""
    import triton  # noqa: F401
    if backend == "cpu":
        import interpreted
        interpreted.complete()
        torch.set_num_threads(1)


def examine(reference, optimized, backend="cpu", calls=30, states=None, stop=False):
    """What the states show in this process; up to the first fault if `stop`."""
    prepare(backend)
    faults = []
    run = None
    try:
        run = Run(reference, optimized, backend)
        run.least_calls = calls
        with run.counting(), torch.no_grad():
            pair = None
            for name in states or STATES:
                try:
                    pair = pair or Pair(run)
                    run.states += STATES[name](pair) is not False
                    pair.check_kept()
                except Exception as error:
                    kind = "" if isinstance(error, Fault) else type(error).__name__ + ": "
                    faults.append(f"{name}: {kind}{error}"[:500])
                    pair = None  # the next state starts afresh
                    if stop:
                        break
    except Fault as fault:
        faults.append(str(fault))
    counted = {name: getattr(run, name, 0) for name in ("states", "calls", "launches", "replays")}
    return {**counted, "faults": faults}


class Forked:
    """A function that runs in a fork of this process."""

    def __init__(self, function, *args):
        context = multiprocessing.get_context("fork")
        self.result_end, end = context.Pipe(duplex=False)
        self.process = context.Process(target=lambda: end.send(function(*args)))
        self.process.start()
        end.close()

    def result(self, seconds):
        """What it returned; None if it died, or ran longer and was ended."""
        try:
            return self.result_end.recv() if self.result_end.poll(seconds) else None
        except EOFError:
            return None
        finally:
            self.process.kill()
            self.process.join()


def last_line(output):
    """The answer, after what a model may have printed."""
    return json.loads(output.splitlines()[-1])


def everything(options):
    """All states, some under -O, and the export without its stores, side by side."""
    reference, optimized, backend = options.reference, options.optimized, options.backend
    own = [name for name in STATES if name != "torch.compile"]
    with tempfile.TemporaryDirectory() as folder:
        emptied = pathlib.Path(folder) / "without_stores.py"
        try:
            emptied.write_text(without_stores(pathlib.Path(optimized).read_text()))
        except (Fault, SyntaxError) as error:
            return {"states": 0, "calls": 0, "launches": 0, "replays": 0, "faults": [str(error)]}
        under_o = subprocess.Popen(
            [sys.executable, "-O", __file__, reference, optimized, "--backend", backend, "--json", "--calls", "0",
             "--states", *UNDER_O], stdout=subprocess.PIPE, text=True)
        prepare(backend)
        compiled = Forked(examine, reference, optimized, backend, 0, ["torch.compile"])
        without = Forked(examine, reference, emptied, backend, 0, own, True)
        total = examine(reference, optimized, backend, options.calls, own)
        parts = {"torch.compile": compiled.result(options.timeout)}
        try:
            parts["python -O"] = last_line(under_o.communicate(timeout=options.timeout)[0])
        except (subprocess.TimeoutExpired, IndexError, json.JSONDecodeError):
            under_o.kill()
            parts["python -O"] = None
        # An export that dies or waits forever without its stores fails the test, too.
        passed = without.result(options.timeout)
    for name, part in parts.items():
        if part is None:
            total["faults"].append(f"{name}: the process died, or took over {options.timeout} s")
            continue
        total["states"] += 1
        total["calls"] += part["calls"]
        total["launches"] += part["launches"]
        total["replays"] += part["replays"]
        total["faults"] += part["faults"] if name == "torch.compile" else [f"{name}: {f}" for f in part["faults"]]
    if passed is not None and not passed["faults"]:
        total["faults"].append("without its stores it passes the same test")
    return total


def truth(reference, optimized, backend="cpu", calls=30, timeout=300):
    """The command's answer: "states", "calls", "launches", "replays" and "faults"."""
    command = [sys.executable, __file__, reference, optimized, "--backend", backend, "--calls", str(calls),
               "--json"]
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout)
    if process.returncode < 0:
        died = f"the process died of signal {-process.returncode}"
        return {"states": 0, "calls": 0, "launches": 0, "replays": 0, "faults": [died]}
    if process.returncode > 1:
        raise RuntimeError(process.stderr)
    return last_line(process.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference")
    parser.add_argument("optimized")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--calls", type=int, default=30, help="at least as many calls (30)")
    parser.add_argument("--states", nargs="+", choices=list(STATES), help="these alone, in one process")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for each of the other processes (120)")
    parser.add_argument("--graphed", action="store_true", help="by CUDA graphs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.graphed:
        os.environ["KW_TRUTH_GRAPHED"] = "1"  # other processes read it, too
    if options.backend == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    if options.states:
        answer = examine(options.reference, options.optimized, options.backend, options.calls, options.states)
    else:
        answer = everything(options)
    if options.json:
        print(json.dumps(answer))
    else:
        print("\n".join(answer["faults"]))
        print("{states} states, {calls} calls, {launches} launches, {replays} replays".format(**answer), end=": ")
        print(f"{len(answer['faults'])} faults" if answer["faults"] else "no fault")
    return 1 if answer["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
