"""Stand-ins for the GPU that is not there: torch.cuda's questions answered from a device profile,
and the ways out of a recording (CUDA graphs, addresses, host copies) closed by name. Where PyTorch
has a class there is a class, so that real files can be imported and run.

patched() installs them for the length of a `with`. They go in after FakeTensorMode is entered: it
asks torch.cuda.is_available() itself and must hear the truth.
"""

import contextlib
import functools
import math
import multiprocessing.synchronize
import os
import sys
import threading
import types

import numpy
import torch
import triton
from torch._prims_common import suggest_memory_format
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

import lazy_parameters
import streams
from addresses import Addresses
from refusal import TO_THE_CPU, host_read

try:  # before any file can import it: its ways in are closed below
    import torch.utils.cpp_extension
except ImportError:  # it needs setuptools; without them no file can import it
    pass

_LIBRARIES = tuple(os.path.join(os.path.dirname(module.__file__), "")
                   for module in (torch, triton))


def _asked_by_library(depth=2):
    """Whether the caller's caller is Triton's or PyTorch's own code. Triton's argument binder is
    generated code, known by its globals."""
    frame = sys._getframe(depth)
    if frame.f_code.co_name == "dynamic_func" and "specialize_impl" in frame.f_globals:
        return True
    return frame.f_code.co_filename.startswith(_LIBRARIES)


_SECOND_DEVICE = "the program uses a second device (%s), and a program runs on one GPU: use cuda:0 alone"


class OneDevice(TorchFunctionMode):
    """Factories make their tensors on the device, and "cuda" means that one without asking a
    driver which is current; so does device 0, and the CPU before the first call."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder
        self.device = streams.DEVICE
        self.constructors = _device_constructors()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        device = kwargs.get("device")
        if device is not None:
            kwargs["device"] = self._the_one(device)
        elif func in self.constructors:
            kwargs["device"] = self.device
        elif func is torch.Tensor.to and len(args) > 1:
            args = (args[0], self._the_one(args[1]), *args[2:])
        return func(*args, **kwargs)

    def _the_one(self, device):
        if isinstance(device, int) and not isinstance(device, bool):
            device = torch.device("cuda", device)
        elif isinstance(device, str) and device.startswith("cuda"):
            device = torch.device(device)
        if str(device) == "cpu" and self.recorder.constructing:
            return self.device
        if not isinstance(device, torch.device) or device.type != "cuda":
            return device
        if device.index not in (None, 0, self.device.index):
            self.recorder.refuse("unsupported", _SECOND_DEVICE % device)
        return self.device


class _Properties(types.SimpleNamespace):
    """What a device can do. `_asked` is told the names that are read."""

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        if not name.startswith("_"):
            asked = "capability" if name in ("major", "minor") else name
            super().__getattribute__("_asked").add(asked)
        return value


def device_properties(profile, asked):
    major, minor = divmod(int(profile.get("arch", "sm_90")[3:]), 10)
    return _Properties(
        _asked=asked, name=profile.get("name", ""), major=major, minor=minor,
        total_memory=int(profile.get("memory_bytes", 0)),
        multi_processor_count=int(profile.get("sms", 1)),
        L2_cache_size=int(profile.get("l2_bytes", 0)),
        regs_per_multiprocessor=int(profile.get("registers_per_sm", 65536)),
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=int(profile.get("shared_per_block", 0)),
        shared_memory_per_multiprocessor=int(profile.get("shared_per_block", 0)) + 1024,
        max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32,
        is_integrated=0, is_multi_gpu_board=0, gcnArchName="")


def asked_properties(profile, asked):
    """The properties named `asked`, but for the capability, which the architecture says, and for the
    clocks and widths that Triton alone knows."""
    known = vars(device_properties(profile, set()))
    return {name: known[name] for name in sorted(asked) if name in known}


# CUDA's version, where PyTorch was built without: that of PyTorch's packages.
_CUDA_VERSION, _CUDNN_VERSION = torch.version.cuda or "12.8", 91002


def _cuda(profile, recorder):
    """What torch.cuda answers, and torch.accelerator: (owner, name, value)."""
    properties = device_properties(profile, recorder.asked)
    known = vars(properties)
    capability, total = (known["major"], known["minor"]), known["total_memory"]

    def check_device(device):
        """There is one device: asking for another would fail in use."""
        if device not in (None, 0, -1) and str(device) not in ("cuda", "cuda:0"):
            recorder.refuse("unsupported", _SECOND_DEVICE % (device,))

    def of_device(answer, what=None):
        def asked(device=None):
            check_device(device)
            if what is not None:
                recorder.asked.add(what)
            return answer
        return asked

    def asked_for(what, answer):
        def asked(*args, **kwargs):
            recorder.asked.add(what)
            return answer
        return asked

    def exchange(device):
        check_device(device)
        return -1 if device < 0 else 0

    ordering, in_torch = streams.stand_ins(recorder, check_device)
    in_cuda = {
        "is_available": lambda: True, "is_initialized": lambda: True, "init": lambda: None,
        "_lazy_init": lambda: None, "_lazy_call": lambda *args, **kwargs: None,
        "device_count": lambda: 1, "current_device": lambda: 0, "set_device": of_device(None),
        "_exchange_device": exchange, "_maybe_exchange_device": exchange,
        "get_device_name": of_device(known["name"], "name"),
        "get_device_capability": of_device(capability, "capability"),
        "get_device_properties": of_device(properties),
        "is_bf16_supported": asked_for("capability", capability >= (8, 0)),
        "is_tf32_supported": asked_for("capability", capability >= (8, 0)),
        "get_arch_list": asked_for("capability", ["sm_%d%d" % capability]),
        "synchronize": of_device(None), "empty_cache": lambda: None, "ipc_collect": lambda: None,
        "mem_get_info": of_device((total, total), "total_memory"),
        "reset_peak_memory_stats": of_device(None), "memory_stats": lambda device=None: {},
        **{name: lambda device=None: 0 for name in (
            "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")},
        "manual_seed": lambda seed: None, "manual_seed_all": lambda seed: None, **ordering}
    changes = [(torch.cuda, name, value) for name, value in in_cuda.items()]
    changes += [(owner, name, ordering[name]) for owner, names in (
        (torch.cuda.streams, ("Stream", "ExternalStream", "Event")),
        (torch.cuda.graphs, ("CUDAGraph", "graph", "make_graphed_callables", "graph_pool_handle",
                             "is_current_stream_capturing"))) for name in names]
    changes += [(torch, name, value) for name, value in in_torch.items()]
    changes += [(torch.accelerator, name, value) for name, value in {
        "is_available": lambda: True, "device_count": lambda: 1, "synchronize": of_device(None),
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": lambda: 0, "current_device_idx": lambda: 0,
        "set_device_index": of_device(None), "set_device_idx": of_device(None),
        "current_stream": ordering["current_stream"], "set_stream": ordering["set_stream"],
    }.items()]
    return changes + [
        (torch.version, "cuda", _CUDA_VERSION),
        (torch.backends.cuda, "is_built", lambda: True),
        (torch.backends.cudnn, "is_available", lambda: True),
        (torch.backends.cudnn, "version", lambda: _CUDNN_VERSION),
        # What PyTorch's own compiler writes into the files that it makes.
        (torch._C, "_cuda_getCurrentRawStream", lambda device: 0),
        (torch._C, "_cuda_getDevice", lambda: 0),
        (torch._C._dynamo.guards, "_empty_strided_cuda", _empty_strided),
        (torch._C._dynamo.guards, "_reinterpret_tensor", _reinterpret)]


def _empty_strided(size, stride, dtype):
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def _reinterpret(tensor, size, stride, offset_increment=0):
    return torch.as_strided(tensor, size, stride, tensor.storage_offset() + offset_increment)


def _compile(model=None, **options):
    """torch.compile: the compiled program does what the program does, which is recorded. Around a
    module is PyTorch's own module, by whose name the weights are known."""
    if model is None:
        return lambda given: _compile(given, **options)
    if not isinstance(model, torch.nn.Module):
        return model
    from torch._dynamo.eval_frame import OptimizedModule
    return OptimizedModule(model, lambda function: function)


def _uncompiled(fn=None, *args, **options):
    """torch.compiler.disable and its like, of which PyTorch's own imports its compiler."""
    return (lambda given: given) if fn is None else fn


def _script(obj, *args, **options):
    """torch.jit.script: what is scripted does what the Python does, which is recorded. TorchScript
    makes tensors on the CPU, out of sight of the modes of Python."""
    return obj


def _tensor_methods(recorder, addresses):
    """Methods of torch.Tensor that leave PyTorch's operators."""
    def refuse_read(what):
        def refused(*args, **kwargs):
            recorder.refuse("host-read", host_read(what))
        return refused

    def data_ptr(tensor):
        return addresses.number(tensor) if _asked_by_library() else addresses.of(tensor)

    original_tolist, original_numpy = torch.Tensor.tolist, torch.Tensor.numpy
    original_cpu = torch.Tensor.cpu

    def cpu(tensor, *args, **kwargs):
        if tensor.device.type != "cpu":
            if recorder.constructing:
                return tensor
            recorder.refuse("host-read", TO_THE_CPU)
            return tensor
        return original_cpu(tensor, *args, **kwargs)

    def tolist(tensor):
        if isinstance(tensor, FakeTensor):
            known = recorder.known_constant(tensor)
            if known is None:
                recorder.refuse("host-read", host_read("tolist"))
                return zeros(tensor).tolist()
            return original_tolist(known)
        return original_tolist(tensor)

    def to_numpy(tensor, **kwargs):
        if isinstance(tensor, FakeTensor):
            recorder.refuse("host-read", host_read("numpy"))
            return zeros(tensor)
        return original_numpy(tensor, **kwargs)

    def zeros(tensor):
        return numpy.zeros(tuple(tensor.shape))

    original_deepcopy = torch.Tensor.__deepcopy__

    def deepcopy(tensor, memo):
        """As PyTorch's, which copies a fake tensor through the meta device."""
        if not isinstance(tensor, FakeTensor):
            return original_deepcopy(tensor, memo)
        if id(tensor) not in memo:
            with torch.no_grad():
                copy = tensor.detach().clone(memory_format=torch.preserve_format)
            if isinstance(tensor, torch.nn.Parameter):
                copy = torch.nn.Parameter(copy, requires_grad=tensor.requires_grad)
            memo[id(tensor)] = copy
        return memo[id(tensor)]

    def cuda(tensor, device=None, non_blocking=False, memory_format=torch.preserve_format):
        if tensor.device.type == "cuda":
            return tensor
        return tensor.to("cuda", memory_format=memory_format)

    return {"tolist": tolist, "numpy": to_numpy, "__array__": refuse_read("__array__"),
            "__dlpack__": refuse_read("__dlpack__"), "cuda": cuda,
            "cpu": cpu, "__deepcopy__": deepcopy,
            "__cuda_array_interface__": property(refuse_read("__cuda_array_interface__")),
            "record_stream": lambda tensor, stream: None}, data_ptr


def _apply(module, fn, recurse=True):
    """nn.Module._apply that replaces parameters instead of swapping their insides, which fake
    tensors do not allow. Tied parameters stay tied."""
    moved = {}

    def move(tensor):
        if id(tensor) not in moved:
            with torch.no_grad():
                result = fn(tensor)
            if isinstance(tensor, torch.nn.Parameter) and result is not tensor:
                result = torch.nn.Parameter(result, requires_grad=tensor.requires_grad)
            moved[id(tensor)] = (result, tensor)
        return moved[id(tensor)][0]

    for part in module.modules() if recurse else [module]:
        for table in (part._parameters, part._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    table[name] = move(tensor)
        if isinstance(part, torch.nn.RNNBase):
            part._flat_weights = [getattr(part, name, None) for name in part._flat_weights_names]
    return module


def _truncated_normal(tensor, mean, std, a, b, generator=None):
    """nn.init.trunc_normal_ by the inverse distribution function. Newer versions of PyTorch draw
    again until every element fits, which reads values on the host."""
    low, high = (math.erf((bound - mean) / std / math.sqrt(2.0)) for bound in (a, b))
    with torch.no_grad():
        tensor.uniform_(low, high, generator=generator).erfinv_()
        return tensor.mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)


def _convolution_format(of_torch):
    """The layout of a convolution's result on CUDA: channels-last when either operand is, but not
    in double precision (cuDNN's rule, cudnn_conv_suggest_memory_format in ATen/native/ConvUtils.h).
    A PyTorch built without CUDA would give every result the contiguous layout."""

    def rule(input, weight, backend):
        if input.device.type != "cuda":
            return of_torch(input, weight, backend)
        last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(weight.dim())
        if last is None or input.dtype == torch.float64:
            return torch.contiguous_format
        either = last in (suggest_memory_format(input), suggest_memory_format(weight))
        return last if either else torch.contiguous_format

    return rule


def _lock(kind, *, ctx=None):
    return kind()


def _nvidia_smi(attributes):
    """Returns what Triton would ask nvidia-smi for, in MHz. A record job starts no programs."""
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    clocks = {"sm": "sm_clock_rate", "graphics": "sm_clock_rate", "memory": "mem_clock_rate",
              "mem": "mem_clock_rate"}
    return [properties[clocks[attribute.rpartition(".")[2]]] // 1000 for attribute in attributes]


@contextlib.contextmanager
def patched(profile, recorder):
    """Installs every stand-in; takes them all out again."""
    addresses = Addresses(recorder)

    def refuse_custom(name):
        def refused(*args, **kwargs):
            recorder.refuse("hidden-launch", "%s builds machine code, and nobody can see what that launches: "
                            "use PyTorch's operators or Triton kernels" % name)
        return refused

    def storage_address(storage):
        return 0 if _asked_by_library() else addresses.of_storage(storage)

    methods, data_ptr = _tensor_methods(recorder, addresses)
    changes = _cuda(profile, recorder)
    changes += [(torch.Tensor, name, value) for name, value in methods.items()]
    changes += [
        (FakeTensor, "data_ptr", data_ptr),
        (torch.UntypedStorage, "data_ptr", storage_address),
        (torch.nn.Module, "_apply", _apply),
        (torch.nn.RNNBase, "_apply", _apply),
        # A torch with CUDA would ask cuDNN to lay the weights out in one piece of memory.
        (torch.nn.RNNBase, "flatten_parameters", lambda module: None),
        (torch.nn.init, "_no_grad_trunc_normal_", _truncated_normal),
        (torch._C, "_conv_determine_backend_memory_format",
         _convolution_format(torch._C._conv_determine_backend_memory_format)),
        *[(torch.cuda.nvtx, name, lambda message=None: None)
          for name in ("mark", "range_push", "range_pop")],
        (torch.autograd.profiler.record_function, "__enter__", lambda mark: mark),
        (torch.autograd.profiler.record_function, "__exit__", lambda mark, *exception: None),
        (triton.testing, "nvsmi", _nvidia_smi),
        # A record job is one process, which may write to no memory that others could share.
        *[(multiprocessing.synchronize, name, functools.partial(_lock, kind))
          for name, kind in (("Lock", threading.Lock), ("RLock", threading.RLock))],
        (torch, "compile", _compile), (torch.jit, "script", _script),
        (torch.nn.Module, "compile", lambda module, *args, **options: None),
        (torch.compiler, "disable", _uncompiled), (torch.compiler, "allow_in_graph", _uncompiled),
        (torch.library.Library, "impl", recorder.bodies.noting(torch.library.Library.impl)),
        *lazy_parameters.STAND_INS,
    ]
    cpp_extension = sys.modules.get("torch.utils.cpp_extension")
    if cpp_extension is not None:
        changes += [(cpp_extension, name, refuse_custom("torch.utils.cpp_extension." + name))
                    for name in ("load", "load_inline")]

    saved, missing = [], object()
    try:
        for owner, name, value in changes:
            saved.append((owner, name, owner.__dict__.get(name, missing)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(saved):
            if value is missing:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
