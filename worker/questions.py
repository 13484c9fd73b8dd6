"""The table of what a candidate's host code may ask of modules and objects that are not its own.

What would tell a file whether it is being recorded or used is not in it: frames, loaded modules,
the command line, clocks, seeds, memory in use, how PyTorch was built.
"""

import io
import logging
import types
import warnings

import torch


def _names(text):
    return frozenset(text.split())


# Modules that may be asked for all public names but these.
OPEN = {
    "torch": _names("Generator seed initial_seed get_rng_state default_generator random get_num_threads "
                    "get_num_interop_threads from_file load save overrides"),
    "triton": frozenset(), "triton.language": frozenset(), "triton.language.extra": frozenset(),
    "triton.runtime": _names("cache CacheManager"),
    "numpy": _names("fromfile load loadtxt genfromtxt memmap ctypeslib show_config show_runtime "
                    "get_include info testing f2py lib core distutils DataSource fromregex source who lookfor"),
    "functools": _names("update_wrapper"), "operator": _names("attrgetter methodcaller"),
    "string": _names("Formatter"),
    "typing": _names("Protocol runtime_checkable get_type_hints"),
    "typing_extensions": _names("Protocol runtime_checkable get_type_hints"),
    "enum": _names("global_enum"),
    "contextlib": frozenset(), "collections": _names("UserString"), "dataclasses": frozenset(),
}
for _module in ("math cmath itertools collections.abc abc numbers copy re json textwrap "
                "struct fractions decimal statistics bisect heapq hashlib einops "
                "torch.nn torch.nn.functional torch.nn.init torch.nn.parameter torch.nn.modules "
                "torch.nn.attention torch.autograd torch.autograd.function torch.autograd.functional "
                "torch.amp torch.cuda.amp torch.cuda.nvtx torch.fft torch.linalg "
                "torch.special torch.types torch.library torch.func torch.compiler "
                "torch.distributions torch.nn.utils torch.nn.utils.parametrize torch.utils.checkpoint "
                "torch.utils.weak torch.return_types "
                "torch.sparse triton.tools triton.tools.tensor_descriptor __future__").split():
    OPEN[_module] = frozenset()

# Modules that may be asked for these names alone.
CLOSED = {
    "sys": _names("maxsize float_info int_info float_repr_style byteorder platform version "
                  "version_info implementation stdout stderr exit path intern "
                  "setrecursionlimit setswitchinterval"),
    "os": _names("environ getenv putenv linesep sep path PathLike fspath"),
    "posixpath": _names("join dirname basename splitext normpath sep"),
    "time": _names("sleep"),
    "random": _names("seed Random"),
    "numpy.random": _names("seed default_rng RandomState"),
    "types": _names("SimpleNamespace MappingProxyType MethodType NoneType"),
    "logging": _names("getLogger basicConfig captureWarnings disable NullHandler NOTSET DEBUG INFO "
                      "WARNING ERROR CRITICAL debug info warning error exception critical log"),
    "warnings": _names("warn filterwarnings simplefilter catch_warnings resetwarnings"),
    "weakref": _names("WeakKeyDictionary"),
    "triton.knobs": _names("runtime"),
    "triton.testing": _names("do_bench perf_report Benchmark"),
    # What there are stand-ins for: the rest asks a driver that is not there.
    "torch.cuda": _names(
        "is_available init device_count current_device set_device get_device_name device device_of "
        "get_device_capability get_device_properties is_bf16_supported get_arch_list synchronize "
        "empty_cache current_stream default_stream stream Stream ExternalStream Event CUDAGraph graph "
        "make_graphed_callables manual_seed manual_seed_all reset_peak_memory_stats amp nvtx"),
    "torch.utils.cpp_extension": _names("load load_inline"),
    "torch.jit": _names("is_scripting is_tracing ignore unused export"),
    "torch.utils": _names("checkpoint weak cpp_extension"),
    "torch.profiler": _names("record_function"),
    "torch.autograd.profiler": _names("record_function"),
    "torch.version": _names("hip xpu"),
    "torch.backends": _names("cuda cudnn mps opt_einsum"),
    "torch.backends.cuda": _names("matmul enable_flash_sdp enable_math_sdp enable_mem_efficient_sdp "
                                  "enable_cudnn_sdp sdp_kernel"),
    "torch.backends.cudnn": _names("allow_tf32 benchmark deterministic enabled flags conv rnn "
                                   "fp32_precision benchmark_limit"),
    "torch.backends.mps": _names("is_available"),
}

# Names between double underscores that may be read of anything.
SPECIAL = _names("__init__ __call__ __name__ __qualname__ __doc__ __class__ __version__ __enter__ "
                  "__exit__ __len__ __iter__ __next__ __getitem__ __setitem__ __contains__ __eq__ "
                  "__add__ __sub__ __mul__ __truediv__ __post_init__ __new__ __repr__")

# And that may be set.
WRITTEN = _names("__name__ __qualname__ __doc__ __version__ __wrapped__")

# Private names of PyTorch's objects that mean the same everywhere.
PRIVATE = _names("_version _cdata")

# Where a tensor is. A recording has all of them on the device from the start; a user's process moves
# them there with the model.
PLACE = _names("device is_cuda is_cpu get_device type")

# What may be asked of stand-ins: what there is of the real thing.
OF_STAND_INS = _names(
    "_is_alias_of utils get_device_properties get_current_device set_current_device get_current_target "
    "get_current_stream get_active_torch_device get_device_interface get_device_capability "
    "get_benchmarker is_active name major minor multi_processor_count warp_size "
    "shared_memory_per_block shared_memory_per_block_optin shared_memory_per_multiprocessor "
    "regs_per_multiprocessor max_threads_per_multi_processor max_threads_per_block L2_cache_size "
    "synchronize wait_stream wait_event query is_integrated is_multi_gpu_board "
    "get setdefault pop update items keys values copy register_fake register_kernel "
    "register_autograd register_vmap register_autocast register_torch_dispatch")

# Of kernels: what may be asked.
OF_KERNELS = _names("run warmup fn arg_names best_config configs keys src")

# Of kinds of objects: what may not be asked.
OF_KINDS = (
    (types.FrameType, None), (types.TracebackType, None), (types.CodeType, None),
    ((types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType),
     _names("gi_frame gi_code cr_frame cr_code cr_origin ag_frame ag_code gi_yieldfrom")),
    (logging.LogRecord, None), (torch.Generator, None),
    ((torch._ops.OpOverload, torch._ops.OpOverloadPacket), _names(
        "has_kernel_for_dispatch_key has_kernel_for_any_dispatch_key py_kernels py_impl decompose "
        "redispatch")),
    (logging.Logger, _names("findCaller makeRecord handlers parent root manager")),
    (io.TextIOWrapper, _names("name fileno isatty buffer encoding errors mode line_buffering "
                              "closed newlines detach")),
    (warnings.WarningMessage, _names("filename lineno source line file")),
    ((torch.UntypedStorage, torch.TypedStorage), _names("device is_cuda is_cpu type filename "
                                                        "is_shared is_pinned get_device")),
    (torch.Tensor, _names("storage share_memory_ is_shared is_meta is_pinned")),
)

# Variables of the environment that differ between a worker and a user's process by what they begin
# with: what there is of them is not told.
VARIABLES = ("CUDA", "CUBLAS", "NVIDIA", "TORCH", "PYTORCH", "TRITON", "KERNELWRIGHT", "PYTHON",
             "OMP_", "MKL_", "OPENBLAS_", "LD_", "TMP", "TEMP", "HOME", "PATH", "USER", "LOGNAME",
             "SHELL", "PWD", "LANG", "LC_", "TERM", "HOSTNAME", "VIRTUAL_ENV", "CONDA", "SLURM",
             "KUBERNETES", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_", "XDG_", "SSH_", "_")

# Builtins that a file has no use for where it is recorded.
NO_BUILTINS = _names("open eval exec compile globals locals dir input breakpoint help memoryview")
