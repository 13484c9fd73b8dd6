"""A GPU for exports on a machine without one: tensors stay on the CPU, kernels are PyTorch's operators, and a CUDA
graph is the list of operators that ran while it was captured. A replay runs them again in the same memory.
"""

import contextlib
import inspect
import itertools
import threading
import types

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode


class _Recording(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
        out = function(*args, **kwargs or {})
        self.calls.append((function, args, kwargs or {}, out))
        return out


class Stream:
    def __init__(self, gpu):
        self.gpu, self.number, self.capturing = gpu, next(gpu.numbers), False
        self.cuda_stream = self.number

    def __enter__(self):
        self.before, self.gpu.current.stream = self.gpu.stream, self

    def __exit__(self, *_):
        self.gpu.current.stream = self.before

    def wait_stream(self, other):
        self.gpu.waits.append((self.number, other.number))

    def wait_event(self, event):
        self.gpu.waits.append((self.number, event.stream.number))

    def synchronize(self):
        assert not self.capturing, "a capture cannot wait"


class Event:
    def record(self, stream):
        self.stream = stream

    def synchronize(self):
        pass


class Cuda:
    """CUDA's calls for graphs, as _kw_Cuda of an export makes them."""

    def __init__(self, gpu):
        self.gpu = gpu

    def begin(self, number):
        assert not self.gpu.stream.capturing and number == self.gpu.stream.number
        assert self.gpu.pools == 1, "a graph's memory comes from its pool"
        self.gpu.stream.capturing, self.recording = True, _Recording()
        self.recording.__enter__()
        self.gpu.captures += 1
        self.gpu.captured_on.append(number)

    def end(self, number):
        assert number == self.gpu.stream.number
        self.gpu.stream.capturing = False
        self.recording.__exit__(None, None, None)
        if self.gpu.refuses:
            raise RuntimeError(self.gpu.refuses)
        self.gpu.reserved += self.gpu.bytes_of_a_graph
        self.gpu.alive += 1
        return self.recording.calls

    def launch(self, calls, stream):
        assert stream == 7 + self.gpu.number + self.gpu.stream.number
        self.gpu.replays += 1
        for function, args, kwargs, kept in calls:
            if "empty" in str(function):
                continue
            made = function(*args, **kwargs)
            for old, new in zip(pytree.tree_leaves(kept), pytree.tree_leaves(made)):
                if old.data_ptr() != new.data_ptr():
                    old.copy_(new)

    def stream(self):
        return Stream(self.gpu)

    def relaxed(self, run, *given):
        run(*given)

    def destroy(self, calls):
        self.gpu.alive -= 1


class Kernel:
    """A kernel that Triton would launch: `compute(*arguments)` does what it does. `asked` and `ran` are what it was
    given: by Triton's call, and by the compiled kernel's."""

    def __init__(self, gpu, kernel, compute):
        self.gpu, self.signature, self.compute = gpu, inspect.signature(kernel.fn), compute
        self.asked, self.ran = [], []

    def __getitem__(self, grid):
        def launch(*args, **named):
            assert not self.gpu.stream.capturing, "Triton compiles and loads kernels, which ends a capture"
            options = {name: named.pop(name) for name in list(named) if name not in self.signature.parameters}
            given = list(self.signature.bind(*args, **named).arguments.values())
            self.asked.append((grid, given, options))
            self.compute(*given)
            return types.SimpleNamespace(function=11, packed_metadata=(2, 1), run=self.run)
        return launch

    def run(self, x, y, z, stream, function, metadata, launch_metadata, enter, leave, *args):
        assert (function, metadata, launch_metadata, enter, leave) == (11, (2, 1), None, None, None)
        assert stream == 7 + self.gpu.number + self.gpu.stream.number
        self.ran.append(((x, y, z), list(args), stream))
        self.compute(*args)


def gradients_are_wanted(tensors, expected):
    """_kw_misfit of an export, which here is for tensors on the CPU, of any shape."""
    return "gradients are wanted" if torch.is_grad_enabled() and any(t.requires_grad for t in tensors) else None


class Gpu:
    """Number 0, as `torch.cuda` and Triton show it. Its stream n is Triton's 7 + n."""

    def __init__(self, monkeypatch):
        self.number, self.numbers = 0, itertools.count()
        self.current, self.first, self.waits = threading.local(), Stream(self), []
        self.captures, self.replays, self.alive, self.pools, self.refuses = 0, 0, 0, 0, ""
        self.captured_on = []
        self.reserved, self.bytes_of_a_graph, self.memory = 0, 1000, 100_000
        cuda = {
            "current_device": lambda: self.number, "current_stream": lambda: self.stream,
            "Stream": lambda: Stream(self), "stream": lambda stream: stream, "Event": Event,
            "MemPool": object, "use_mem_pool": self.used,
            "is_current_stream_capturing": lambda: self.stream.capturing,
            "get_allocator_backend": lambda: "native", "memory_reserved": lambda: self.reserved,
            "get_device_properties": lambda gpu: types.SimpleNamespace(total_memory=self.memory),
        }
        for name, value in cuda.items():
            monkeypatch.setattr(torch.cuda, name, value)

    @property
    def stream(self):
        return getattr(self.current, "stream", self.first)

    def take(self, module, monkeypatch):
        """Makes an export's module run here: its tensors are on the CPU, and fit."""
        monkeypatch.setattr(module, "_kw_misfit", gradients_are_wanted)
        monkeypatch.setattr(module, "_kw_device", "cpu")
        monkeypatch.setattr(module, "_kw_cuda", Cuda(self), raising=False)
        active = types.SimpleNamespace(get_current_stream=lambda gpu: 7 + gpu + self.stream.number)
        monkeypatch.setattr(module._kw_triton.runtime.driver, "_active", active, raising=False)

    @contextlib.contextmanager
    def used(self, pool):
        self.pools += 1
        yield
        self.pools -= 1

    @contextlib.contextmanager
    def captured_by_the_user(self):
        self.stream.capturing = True
        yield
        self.stream.capturing = False
