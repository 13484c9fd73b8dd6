"""torch.compile, for callers that may run what is compiled with the GPU.

    python compile_server.py --device cuda|cpu --socket FD --parallel N

A trusted process (it runs the user's references and text that was written from recorded programs, may
use the GPU, and is not sandboxed). It imports torch and Inductor once and forks a child for each
request, at most N at once. It never touches CUDA: a context does not survive a fork. A request and its
reply are frames (frames.py):

    {"request": 3, "seconds": limit, "task": "package" (baseline.py), "candidate" (inductor.py) or
     "calls" (calls.py), "out": PATH of the file that is made, and what the task wants}
    {"request": 3, "error": null or one line}
"""

import argparse
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections import deque
from pathlib import Path

import baseline
import calls
import frames
import inductor
from refusal import one_line

TASKS = {"package": baseline.build, "candidate": inductor.write, "calls": calls.build}

_RAISED = "raised "  # the last line of a log that ends in a traceback: people are told this line alone

# What Inductor imports only when the first graph comes. Another torch may not have all of them.
_WANTED_LATER = ("setuptools", "sympy.combinatorics", "sympy.physics.units", "torch.export._trace",
                 "torch.export._unlift", "torch.utils.cpp_extension", "torch._inductor.choices",
                 "torch._inductor.package", "torch._inductor.codegen.cpp_wrapper_gpu",
                 "torch._inductor.codegen.cuda_combined_scheduling",
                 "torch._inductor.codegen.triton", "torch._inductor.fx_passes.freezing_patterns",
                 "torch._inductor.fx_passes.fuse_attention", "torch._inductor.fx_passes.pad_mm",
                 "torch._inductor.fx_passes.post_grad", "torch._inductor.kernel.mm")


def prepare_environment(device):
    """Must run before torch is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # builds run side by side, and threads do not survive a fork
    # A model has few kernels: starting a pool of compiling processes takes longer than they do.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # torch.cuda.is_available() without touching CUDA.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    inductor.prepare(device)


def import_everything():
    import torch
    import torch._inductor.compile_fx
    import torch._inductor.cpu_vec_isa
    import torch.export
    torch.set_num_threads(1)
    # The CPU's vector instructions do not matter here, and to try what each can do, Inductor compiles
    # a file and imports torch once more.
    torch._inductor.cpu_vec_isa.supported_vec_isa_list = []
    serialized = "torch._inductor.fx_passes.serialized_patterns"
    for name in (*_WANTED_LATER, *_submodules(serialized)):
        try:
            importlib.import_module(name)
        except Exception:  # the code that needs it says so
            pass


def _submodules(package):
    spec = importlib.util.find_spec(package)
    for folder in spec.submodule_search_locations if spec else ():
        yield from (f"{package}.{path.stem}" for path in sorted(Path(folder).glob("[!_]*.py")))
        yield from (f"{package}.{path.stem}" for path in sorted(Path(folder).glob("_[!_]*.py")))


def work_in_child(request, device):
    """In a child: all that is said goes to the request's log. Does not return."""
    status = 1
    try:
        os.setsid()  # the compilers it starts are killed with it
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        out = Path(request["out"])
        log = os.open(out.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        import torch
        if torch.cuda._is_in_bad_fork():  # an import did touch CUDA
            file = out.with_suffix(".request")
            file.write_text(json.dumps(request))
            os.execv(sys.executable, [sys.executable, __file__, "--device", device,
                                      "--request", str(file)])
        TASKS[request["task"]](request, device)
        status = 0
    except BaseException as error:
        traceback.print_exc()
        print(_RAISED + one_line(error), file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class Server:
    def __init__(self, control, device, parallel):
        self.control, self.device, self.parallel = control, device, parallel
        self.waiting = deque()
        self.running = {}  # pidfd -> (pid, request, when it must be over)
        self.poll = select.poll()
        self.poll.register(control, select.POLLIN)

    def serve(self):
        """Until the other end is closed."""
        try:
            while True:
                while self.waiting and len(self.running) < self.parallel:
                    self._start(self.waiting.popleft())
                for fd, _ in self.poll.poll(self._patience()):
                    if fd == self.control.fileno():
                        self.waiting.append(frames.receive(self.control)[0])
                    else:
                        self._end(fd, None)
                for fd in [fd for fd, (_, _, end) in self.running.items()
                           if end < time.monotonic()]:
                    self._end(fd, "took more than %g seconds" % self.running[fd][1]["seconds"])
        except (frames.FrameError, OSError):
            for pid, _, _ in self.running.values():
                os.killpg(pid, signal.SIGKILL)

    def _patience(self):
        ends = [end for _, _, end in self.running.values()]
        return max(0, min(ends) - time.monotonic()) * 1000 + 1 if ends else None

    def _start(self, request):
        pid = os.fork()
        if pid == 0:
            self.control.close()
            work_in_child(request, self.device)
        fd = os.pidfd_open(pid)
        self.running[fd] = pid, request, time.monotonic() + request["seconds"]
        self.poll.register(fd, select.POLLIN)

    def _end(self, fd, error):
        pid, request, _ = self.running.pop(fd)
        self.poll.unregister(fd)
        os.close(fd)
        if error:
            os.killpg(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        out = Path(request["out"])
        if not error and status == 0 and out.exists():
            frames.send(self.control, {"request": request["request"], "error": None})
            return
        code = os.waitstatus_to_exitcode(status)
        error = error or (f"was killed by signal {-code}" if code < 0 else f"exited with {code}")
        log = out.with_suffix(".log")
        said = log.read_text(errors="replace").splitlines() if log.exists() else []
        last = [line.strip() for line in said if line.strip()][-2:]
        if last and last[-1].startswith(_RAISED):
            last = [last[-1].removeprefix(_RAISED)]
        frames.send(self.control, {"request": request["request"],
                                   "error": "; ".join(filter(None, [error, " | ".join(last)]))})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], required=True)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--socket", type=int, help="where requests come from")
    parser.add_argument("--request", type=Path, help="or one of them, in a file")
    options = parser.parse_args()
    prepare_environment(options.device)
    import_everything()
    if options.request:
        request = json.loads(options.request.read_text())
        TASKS[request["task"]](request, options.device)
        return
    gc.collect()
    gc.freeze()  # children share what is there now
    with socket.socket(fileno=options.socket) as control:
        Server(control, options.device, options.parallel).serve()


if __name__ == "__main__":
    main()
