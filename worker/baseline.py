"""torch.compile's versions of references, as AOTInductor packages.

    python baseline.py --device cuda|cpu --socket FD --parallel N

A trusted process (it runs references only, may use the GPU, and is not sandboxed). It imports
torch and Inductor once and forks a child for each request, at most N at once. It never touches
CUDA: a context does not survive a fork. A request and its reply are frames (frames.py):

    {"request": 3, "package": PATH, "source": model file, "folder": where it lies, "class": "Model",
     "state": names of each entry, "inputs": indices or [], "max_autotune": false, "seconds": limit}
    {"request": 3, "error": null or one line}

A package is a function of forward's inputs, state first, then the arguments' tensors (or of some of
them, in an order that is asked for), so that the executor can feed it the very tensors it feeds the
other programs. Files with the package's stem belong to the request.
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

import frames

# What Inductor imports only when the first graph comes. Another torch may not have all of them.
_WANTED_LATER = ("setuptools", "sympy.combinatorics", "sympy.physics.units", "torch.export._trace",
                 "torch.export._unlift", "torch.utils.cpp_extension", "torch._inductor.choices",
                 "torch._inductor.package", "torch._inductor.codegen.cpp_wrapper_gpu",
                 "torch._inductor.codegen.cuda_combined_scheduling",
                 "torch._inductor.codegen.triton", "torch._inductor.fx_passes.freezing_patterns",
                 "torch._inductor.fx_passes.fuse_attention", "torch._inductor.fx_passes.pad_mm",
                 "torch._inductor.fx_passes.post_grad", "torch._inductor.kernel.mm")


def prepare_environment():
    """Must run before torch is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # builds run side by side, and threads do not survive a fork
    # A model has few kernels: starting a pool of compiling processes takes longer than they do.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # torch.cuda.is_available() without touching CUDA.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"


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
        except Exception:  # whoever needs it says so
            pass


def _submodules(package):
    spec = importlib.util.find_spec(package)
    for folder in spec.submodule_search_locations if spec else ():
        yield from (f"{package}.{path.stem}" for path in sorted(Path(folder).glob("[!_]*.py")))
        yield from (f"{package}.{path.stem}" for path in sorted(Path(folder).glob("_[!_]*.py")))


def load_module(path, folder):
    """The model file as a module; its own imports are looked up in `folder`."""
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("kernelwright_reference", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def build(request, device):
    """Makes the package of one request."""
    import torch
    import torch.utils._pytree as pytree
    package = Path(request["package"])
    source = package.with_suffix(".py")
    source.write_text(request["source"])
    module = load_module(source, request["folder"])
    with torch.device(device):
        cls = getattr(module, request["class"])
        given = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        if isinstance(given, dict):
            model = cls(**given)
        else:
            model = cls(*(given if isinstance(given, (list, tuple)) else [given]))
        arguments = list(module.get_inputs())
    model = model.to(device)
    arguments = pytree.tree_map(
        lambda x: x.to(device) if isinstance(x, torch.Tensor) else x, arguments
    )
    leaves, tree = pytree.tree_flatten(arguments)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    names = request["state"]
    named = dict(model.named_parameters(remove_duplicate=False))
    named.update(model.named_buffers(remove_duplicate=False))

    class Functional(torch.nn.Module):
        """The model with its state as arguments."""

        def forward(self, *given):
            tensors = list(everything)
            for place, tensor in zip(order, given):
                tensors[place] = tensor
            state = {}
            for aliases, tensor in zip(names, tensors):
                for alias in aliases:
                    if alias in named:
                        state[alias] = tensor
            filled = list(leaves)
            for place, tensor in zip(places, tensors[len(names) :]):
                filled[place] = tensor
            args = pytree.tree_unflatten(filled, tree)
            return torch.func.functional_call(model, state, tuple(args))

    missing = [aliases for aliases in names if not any(alias in named for alias in aliases)]
    if missing:
        raise ValueError(f"state that is no parameter or buffer: {missing[0]}")
    state = [named[aliases[0]].detach() for aliases in names]
    everything = state + [leaves[place] for place in places]
    order = request["inputs"] or range(len(everything))
    with torch.no_grad():
        program = torch.export.export(Functional(), tuple(everything[i] for i in order))
        torch._inductor.aoti_compile_and_package(
            program, package_path=str(package),
            inductor_configs={"max_autotune": request["max_autotune"]})


def build_in_child(request, device):
    """In a child: all that is said goes to the request's log. Does not return."""
    status = 1
    try:
        os.setsid()  # the compilers it starts are killed with it
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        package = Path(request["package"])
        log = os.open(package.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        import torch
        if torch.cuda._is_in_bad_fork():  # an import did touch CUDA
            file = package.with_suffix(".json")
            file.write_text(json.dumps(request))
            os.execv(sys.executable, [sys.executable, __file__, "--device", device,
                                      "--request", str(file)])
        build(request, device)
        status = 0
    except BaseException:
        traceback.print_exc()
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
            build_in_child(request, self.device)
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
        package = Path(request["package"])
        if not error and status == 0 and package.exists():
            frames.send(self.control, {"request": request["request"], "error": None})
            return
        code = os.waitstatus_to_exitcode(status)
        error = error or (f"was killed by signal {-code}" if code < 0 else f"exited with {code}")
        log = package.with_suffix(".log")
        said = log.read_text(errors="replace").splitlines() if log.exists() else []
        last = [line.strip() for line in said if line.strip()][-2:]
        frames.send(self.control, {"request": request["request"],
                                   "error": "; ".join([error, " | ".join(last)])})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], required=True)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--socket", type=int, help="where requests come from")
    parser.add_argument("--request", type=Path, help="or one of them, in a file")
    options = parser.parse_args()
    prepare_environment()
    import_everything()
    if options.request:
        build(json.loads(options.request.read_text()), options.device)
        return
    gc.collect()
    gc.freeze()  # children share what is there now
    with socket.socket(fileno=options.socket) as control:
        Server(control, options.device, options.parallel).serve()


if __name__ == "__main__":
    main()
