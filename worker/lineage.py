"""Whether two tensors hold the same numbers because the same steps made both."""

from literals import draws
from tape import Call


def same_lineage(tapes, one, other):
    """Whether equal steps made two tensors, given by their keys, out of nothing but literals."""
    made = _lineage(tapes, one)
    return made is not None and made == _lineage(tapes, other)


def _lineage(tapes, key):
    """The steps that a tensor's elements come from, as a Program. None if these are not all known,
    or draw numbers."""
    for tape in reversed(tapes):
        if key in tape.live and key not in tape.inputs:
            value = tape.live[key]
            steps = _steps_of(tape, value)
            if not all(isinstance(step, Call) and not draws(step.op) for step in steps):
                return None
            try:
                made = tape.program([], [value], steps)
            except KeyError:  # of a value that an earlier phase made
                return None
            for step in made["steps"]:
                step["args"].pop("device", None)  # there is one alone
            return made
        if any(key[0] in {v.storage for v in step.may_write()} for step in tape.steps):
            return None  # a later phase wrote to it
    return None


def _steps_of(tape, value):
    """The steps that `value` comes from, in order, without views that nothing of it was written by."""
    values, storages, needed = {value}, {value.storage}, []
    for step in reversed(tape.steps):
        read = {v.storage for v in step.reads()}
        fresh = {v.storage for v in step.results if v is not None} - read
        written = {v.storage for v in step.may_write()}
        if not (values & set(step.results) or storages & (fresh | written)):
            continue
        needed.append(step)
        values.update(step.reads())
        storages |= read
    return needed[::-1]
