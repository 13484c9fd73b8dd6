"""PyTorch's flags of the whole process: what a file sets is put back after its recording, as the next
file of the process must not see it.
"""

import contextlib

import torch


def _attribute(owner, name):
    return lambda: getattr(owner, name), lambda value: setattr(owner, name, value)


_CUDNN, _MATMUL = torch.backends.cudnn, torch.backends.cuda.matmul

# How each is read and set.
_FLAGS = [
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
     lambda value: torch.set_anomaly_enabled(*value)),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    *[_attribute(_CUDNN, name)
      for name in ("allow_tf32", "benchmark", "deterministic", "enabled", "benchmark_limit")],
    *[_attribute(_MATMUL, name)
      for name in ("allow_tf32", "allow_fp16_reduced_precision_reduction",
                   "allow_bf16_reduced_precision_reduction")],
]


@contextlib.contextmanager
def kept():
    before = [_value(read) for read, _ in _FLAGS]
    try:
        yield
    finally:
        for (read, put), value in zip(_FLAGS, before):
            if _value(read) != value:
                put(value)


def _value(read):
    try:
        return read()
    except RuntimeError:  # set by PyTorch's new names and asked for by an old one
        return None
