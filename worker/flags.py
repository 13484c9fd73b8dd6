"""PyTorch's state of the whole process: flags that a file may ask for, and what it must leave as it was."""

import contextlib

import torch

_MODE = (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, 1)  # and warns only
_ANOMALY = (lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
            lambda value: torch.set_anomaly_enabled(*value), (True, False))


def _attribute(owner, name, other):
    return lambda: getattr(owner, name), lambda value: setattr(owner, name, value), other


# Flags that a file may ask for -> how they are read and set, and another value. Those that choose a
# precision or a dtype are not among them: a verdict holds for PyTorch's defaults.
_CUDNN = torch.backends.cudnn
FLAGS = {
    (torch, "get_deterministic_debug_mode"): _MODE,
    (torch, "are_deterministic_algorithms_enabled"): _MODE,
    (torch, "is_deterministic_algorithms_warn_only_enabled"): _MODE,
    (torch, "is_anomaly_enabled"): _ANOMALY, (torch, "is_anomaly_check_nan_enabled"): _ANOMALY,
    (torch, "is_warn_always_enabled"): (torch.is_warn_always_enabled, torch.set_warn_always, True),
    **{(_CUDNN, name): _attribute(_CUDNN, name, other) for name, other in (
        ("benchmark", True), ("deterministic", True), ("enabled", False), ("benchmark_limit", 3))}}

# What else a file may set, and a further recording of it must find as the first did.
_KEPT = [(torch.get_default_dtype, torch.set_default_dtype),
         (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision)]
_KEPT += [_attribute(owner, name, None)[:2] for owner, name in (
    (_CUDNN, "allow_tf32"), (torch.backends.cuda.matmul, "allow_tf32"),
    (torch.backends.cuda.matmul, "allow_fp16_reduced_precision_reduction"),
    (torch.backends.cuda.matmul, "allow_bf16_reduced_precision_reduction"))]
_KEPT += [flag[:2] for flag in FLAGS.values()]

# What loading a file, constructing a model and calling it must leave as it was.
_LEFT = {
    "inference mode": torch.is_inference_mode_enabled,
    "whether gradients are on": torch.is_grad_enabled,
    "the default dtype": torch.get_default_dtype,
    "the default device": torch.get_default_device,
    "deterministic algorithms": torch.get_deterministic_debug_mode,
    "anomaly detection": _ANOMALY[0],
    "autocast": lambda: [(torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))
                         for kind in ("cuda", "cpu")],
}


def left():
    return {what: read() for what, read in _LEFT.items()}


@contextlib.contextmanager
def kept(other=()):
    """Puts back what a file may set. `other`: flags that have another value than now."""
    before = [(put, _value(read)) for read, put in _KEPT]
    try:
        for name in other:
            FLAGS[name][1](FLAGS[name][2])
        yield
    finally:
        for (put, value), (read, _) in zip(before, _KEPT):
            if _value(read) != value:
                put(value)


def _value(read):
    try:
        return read()
    except RuntimeError:  # set by PyTorch's new names and asked for by an old one
        return None
