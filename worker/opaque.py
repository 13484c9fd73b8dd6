"""The `_version` of a tensor, as a file gets it: another number in each process, which means nothing.

It may be kept, be a key and be compared with another one: whether a tensor was changed is what it is
for. Comparing it with plain numbers, arithmetic, its truth and its text are refused.
"""

import numbers


class Version:
    __slots__ = ("_value", "_refuse")

    def __init__(self, value, refuse):
        self._value, self._refuse = value, refuse

    def __eq__(self, other):
        if isinstance(other, Version):
            return self._value == other._value
        if not isinstance(other, numbers.Number):
            return NotImplemented
        if type(other) is int and other < 0:  # as none is: honest files begin with -1
            return False
        return self._refuse("the program compares the _version of a tensor with another number")

    def __hash__(self):
        """The number's own, so that an equal one among keys is compared with it."""
        return hash(self._value)

    def __deepcopy__(self, memo):
        return self


def _refused(version, *args):
    version._refuse("the program makes something else of the _version of a tensor")


for _name in ("lt le gt ge bool neg pos abs invert round trunc floor ceil int float complex index array "
              "str repr format").split():
    setattr(Version, "__%s__" % _name, _refused)
for _name in "add sub mul truediv floordiv mod divmod pow and or xor lshift rshift".split():
    setattr(Version, "__%s__" % _name, _refused)
    setattr(Version, "__r%s__" % _name, _refused)
