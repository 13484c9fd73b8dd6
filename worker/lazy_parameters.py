"""Parameters of lazy modules, which get their shape from the first input that the constructor gives them.

PyTorch makes them as a subclass of its own, which a fake tensor cannot be. Here they are fake tensors that get
their memory in the same way.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, UninitializedTensorMixin


class _Uninitialized(UninitializedTensorMixin, FakeTensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
    shape = torch.Tensor.shape  # FakeTensorMode asks for it, where PyTorch's own raises

    def materialize(self, shape, device=None, dtype=None):
        self.data = torch.empty(shape, device=device or self.data.device, dtype=dtype or self.data.dtype)
        self.__class__ = FakeTensor


class _Parameter(_Uninitialized, UninitializedParameter):
    pass


class _Buffer(_Uninitialized, UninitializedBuffer):
    pass


def _parameter(cls, requires_grad=True, device=None, dtype=None):
    made = torch.empty(0, device=device, dtype=dtype).requires_grad_(requires_grad)
    made.__class__, made._is_param = _Parameter, True
    return made


def _buffer(cls, requires_grad=False, device=None, dtype=None, persistent=True):
    made = torch.empty(0, device=device, dtype=dtype).requires_grad_(requires_grad)
    made.__class__, made._is_buffer, made.persistent = _Buffer, True, persistent
    return made


# (class, name of a function, the function in its place) while a file is recorded.
STAND_INS = [(UninitializedParameter, "__new__", _parameter), (UninitializedBuffer, "__new__", _buffer)]
