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


class Pool:
    """Of memory for graphs. What is in use when it goes stays taken: PyTorch gives back no more by itself."""

    def __init__(self, gpu):
        self.gpu, self.used = gpu, types.SimpleNamespace(alive=0, most=0)

    def __del__(self):
        self.gpu.taken -= (self.used.most - self.used.alive) * self.gpu.bytes_of_a_graph


class Graph:
    def __init__(self, calls, pool):
        self.calls, self.used = calls, pool.used
        self.used.alive += 1
        if self.used.alive > self.used.most:
            self.used.most += 1
            pool.gpu.taken += pool.gpu.bytes_of_a_graph


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
        assert self.gpu.pool is not None, "a graph's memory comes from its pool"
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
        self.gpu.alive += 1
        return Graph(self.recording.calls, self.gpu.pool)

    def launch(self, graph, stream):
        assert stream == 7 + self.gpu.number + self.gpu.stream.number
        self.gpu.replays += 1
        for function, args, kwargs, kept in graph.calls:
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

    def destroy(self, graph):
        graph.used.alive -= 1
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
        self.captures, self.replays, self.alive, self.pool, self.refuses = 0, 0, 0, None, ""
        self.captured_on = []
        self.taken, self.bytes_of_a_graph, self.memory = 0, 1000, 100_000
        cuda = {
            "current_device": lambda: self.number, "current_stream": lambda: self.stream,
            "Stream": lambda: Stream(self), "stream": lambda stream: stream, "Event": Event,
            "MemPool": lambda: Pool(self), "use_mem_pool": self.used,
            "is_current_stream_capturing": lambda: self.stream.capturing,
            "get_allocator_backend": lambda: "native", "memory_reserved": lambda: self.taken,
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
        self.pool = pool
        yield
        self.pool = None

    @contextlib.contextmanager
    def captured_by_the_user(self):
        self.stream.capturing = True
        yield
        self.stream.capturing = False
