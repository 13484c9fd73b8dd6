"""Loads, stores and atomics of the interpreter: handlers of machine.py for operations on memory."""

import re

import numpy as np

import elements
from elements import register_type, unsupported

_ATOMICS = {"fadd": np.add, "add": np.add, "max": np.maximum, "min": np.minimum,
            "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
            "umax": np.maximum, "umin": np.minimum}


def add_pointer(machine, op, env):
    pointer, offset = (env[name] for name in op.operands)
    size = np.dtype(_memory_type(op.types[0].pointee)).itemsize
    return [pointer + offset.astype(np.int64) * size]


def same_bits(machine, op, env):
    return [env[op.operands[0]].astype(np.int64, copy=False)]


def load(machine, op, env):
    kind = op.types[0].element
    memory = "i64" if kind == "ptr" else kind
    _memory_type(memory)
    pointer = env[op.operands[0]]
    if len(op.operands) == 1:
        return [elements.from_memory(machine.memory.load(pointer, memory), memory)]
    mask = env[op.operands[1]]
    if mask.all() and mask.shape[0] <= pointer.shape[0]:
        return [elements.from_memory(machine.memory.load(pointer, memory), memory)]
    pointer, mask = np.broadcast_arrays(pointer, mask)
    if len(op.operands) > 2:
        result = np.empty(pointer.shape, register_type(kind))
        result[...] = env[op.operands[2]]
    else:
        result = machine.undefined(kind, pointer.shape)
    chosen = pointer[mask]
    result[mask] = elements.from_memory(machine.memory.load(chosen, memory), memory)
    return [result]


def store(machine, op, env):
    pointer, value = env[op.operands[0]], env[op.operands[1]]
    kind = parse_pointee(op.text)
    _memory_type(kind)
    if len(op.operands) > 2:
        pointer, value, mask = np.broadcast_arrays(pointer, value, env[op.operands[2]])
        if not mask.all():
            pointer, value = pointer[mask], value[mask]
    else:
        pointer, value = np.broadcast_arrays(pointer, value)
    machine.memory.store(pointer, elements.to_memory(value, kind), kind)


def atomic(machine, op, env):
    how = op.attribute(r"atomic_rmw (\w+)")
    kind = op.types[0].element
    values = [env[name] for name in op.operands]
    mask = values[2] if len(values) > 2 else np.True_
    # Every instance adds, also where all of them add the same to the same element.
    each = np.empty((env.count, *(1,) * (np.ndim(values[0]) - 1)), np.bool_)
    pointer, value, mask, _ = np.broadcast_arrays(values[0], values[1], mask, each)
    raw = elements.to_memory(value, kind)
    unordered = _ATOMICS.get(how)
    unsigned = how in ("umax", "umin")
    if op.results[0] not in machine.used and unordered is not None and kind != "bf16" \
            and not unsigned:
        machine.memory.update(unordered, pointer[mask], raw[mask], kind)
        return [np.zeros(pointer.shape, register_type(kind))]
    old = machine.undefined(kind, pointer.shape)
    for position in zip(*np.nonzero(mask)):
        place = pointer[position][None]
        before = elements.from_memory(machine.memory.load(place, kind), kind)
        old[position] = before[0]
        after = _modify(how, before, value[position][None])
        machine.memory.store(place, elements.to_memory(after, kind), kind)
    return [old]


def compare_and_swap(machine, op, env):
    kind = op.types[0].element
    pointer, expected, value = np.broadcast_arrays(*(env[name] for name in op.operands))
    old = np.zeros(pointer.shape, register_type(kind))
    for position in np.ndindex(pointer.shape):
        place = pointer[position][None]
        before = elements.from_memory(machine.memory.load(place, kind), kind)
        old[position] = before[0]
        if before[0] == expected[position]:
            machine.memory.store(place, elements.to_memory(value[position][None], kind), kind)
    return [old]


def _memory_type(element):
    if element not in elements.MEMORY:
        raise unsupported("memory of type %s" % element)
    return elements.MEMORY[element]


def parse_pointee(text):
    """The element type that a store writes: of the pointer type at the end of its text."""
    found = re.findall(r"!tt\.ptr<(!?[\w.]+)", text)
    return found[-1] if found and not found[-1].startswith("!") else "i64"


def _modify(how, old, value):
    if how in ("exch",):
        return value
    if how in ("umax", "umin"):
        a, b = elements.unsigned(old), elements.unsigned(value)
        return (np.maximum if how == "umax" else np.minimum)(a, b).view(old.dtype)
    return _ATOMICS[how](old, value)
