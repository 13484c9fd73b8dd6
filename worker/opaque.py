"""Operators that the table does not have, and that a Program may hold as PyTorch's calls all the same.

Such an operator is opaque: its results' shapes, strides and storages are known from fake tensors, and what it
writes from its schema, but nothing knows what it computes. The executor asks the same of the schema
(src/executor/aten/operators.cc), because it does not trust a worker.
"""

import functools

import torch

_ARGUMENTS = {"Tensor", "int", "SymInt", "float", "bool", "number", "str", "ScalarType", "Layout", "Device",
              "MemoryFormat", "Generator"}
# Those whose results or effects are no matter of dtypes and shapes alone.
_OTHER_TAGS = {torch.Tag.inplace_view, torch.Tag.nondeterministic_seeded, torch.Tag.dynamic_output_shape,
               torch.Tag.data_dependent_output}


@functools.lru_cache(maxsize=None)
def may_be_opaque(func):
    """Whether a Program may hold calls of `func`, an operator outside of the table."""
    schema = func._schema
    arguments = [str(argument.type) for argument in schema.arguments]
    return (func.namespace == "aten" and not _OTHER_TAGS & set(func.tags)
            and bool(schema.returns) and all(str(returned.type) == "Tensor" for returned in schema.returns)
            and all(_plain(kind) in _ARGUMENTS for kind in arguments)
            and any(_plain(kind) == "Tensor" for kind in arguments)
            and not any(argument.is_out for argument in schema.arguments)
            and not any(_hides_a_write(argument) for argument in schema.arguments)
            and not schema.name.startswith(("aten::_resize_output", "aten::_copy_from")))


def _hides_a_write(argument):
    """Running statistics are written in training, which most schemas do not say."""
    return argument.name.startswith("running_") and not (argument.alias_info and argument.alias_info.is_write)


def _plain(kind):
    """A type without what makes it optional or a list."""
    while kind.startswith(("Optional[", "List[")):
        kind = kind[kind.index("[") + 1:-1]
    return kind
