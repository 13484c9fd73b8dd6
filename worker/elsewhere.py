"""A candidate is recorded again as another process would have it, where it asks for what may be otherwise
there: tensors have counted other changes, everything is on another device, flags have other values. The
Program must be the same.
"""

import itertools
import secrets

from refusal import Refused

DEVICES = 8  # of which a user's model is on one


def check(recording, task, record):
    """`recording` gave `task`; `record(**changes)` makes another that is to be compared."""
    seen = recording.surroundings
    if seen.asked_version is not None:
        for versions in _other_versions(seen.asked_version):
            _compare(recording, task, record(versions=versions), "another _version of a tensor")
    if seen.asked_device:
        index = 1 + secrets.randbelow(DEVICES - 1)
        _compare(recording, task, record(index=index), "another device")
    if seen.asked_flags:
        names = sorted("%s.%s" % (owner.__name__, name) for owner, name in seen.asked_flags)
        _compare(recording, task, record(flags=seen.asked_flags),
                 "another value of %s" % ", ".join(names))


def _other_versions(highest):
    """Each says what version the next tensor gets, above `highest`. Which of them were changed equally
    often is the program's to find out, so it differs: none; those of a model that was loaded and was
    trained, and those of its inputs; all."""
    each = itertools.count(highest + _some_changes(), _some_changes())
    yield lambda is_input: next(each)
    loaded, step = highest + _some_changes(), _some_changes()
    yield lambda is_input: loaded + step * is_input
    same = highest + _some_changes()
    yield lambda is_input: same


def _some_changes():
    """A few more often than many."""
    return 1 + secrets.randbelow(2 ** (1 + secrets.randbelow(16)))


def _compare(recording, task, other, what):
    try:
        same, how, line = other.run() == task, "makes forward do something else", None
    except Refused as refusal:
        same, how, line = False, "ends in: %s" % refusal.message, refusal.line
    if not same:
        raise Refused("varies", "%s %s" % (what, how), recording.file.name, line)
