"""Addresses of tensors, which are made up. A program may compare them, keep things under them, and ask how they are
aligned, which its export asks too. As numbers they mean nothing."""

import operator

KNOWN_ALIGNMENT = 16  # bytes: where allocators of PyTorch put a storage is a multiple of more
_FIRST = 0x7F0000000000
_APART = 1 << 33


class Addresses:
    """A base for each storage. The recorder is told when a program asks for an alignment (`aligned`) and
    when it compares addresses of tensors, or keeps things under them (`compares_addresses`)."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.bases = {}

    def number(self, tensor):
        return self._base(tensor.untyped_storage()) + tensor.storage_offset() * tensor.element_size()

    def of(self, tensor):
        return Address(self.number(tensor) if tensor.numel() else 0, self.recorder)

    def of_storage(self, storage):
        return Address(self._base(storage), self.recorder)

    def _base(self, storage):
        return self.bases.setdefault(storage._cdata, _FIRST + len(self.bases) * _APART)


class Address:
    def __init__(self, number, recorder):
        self._number, self._recorder = number, recorder

    def __mod__(self, size):
        if not _is_known(size):
            return self._refuse() % size
        self._recorder.aligned = True
        return self._number % size

    def __and__(self, mask):
        if not (type(mask) is int and _is_known(mask + 1)):
            return self._refuse() & mask
        self._recorder.aligned = True
        return self._number & mask

    __rand__ = __and__

    def __eq__(self, other):
        same = self._number == _plain(other)
        if not same and isinstance(other, Address):  # the same place in one storage is so in every call
            self._recorder.compares_addresses = True
        return same

    def __hash__(self):
        self._recorder.compares_addresses = True
        return hash(self._number)

    def __bool__(self):
        return self._number != 0

    def __repr__(self):
        self._recorder.compares_addresses = True  # as texts they may be compared
        return repr(self._number)

    def __format__(self, how):
        self._recorder.compares_addresses = True
        return format(self._number, how)

    def __getattr__(self, name):
        """Triton's binder and methods of int."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._refuse(), name)

    def __len__(self):
        """torch.tensor() of addresses asks whether they are sequences."""
        self._refuse()
        return 0

    def __getitem__(self, index):
        raise IndexError(index)

    def _refuse(self):
        self._recorder.refuse("address", "the program takes a tensor's address as a number: it may compare addresses and "
                              "ask whether they are multiples of up to %d" % KNOWN_ALIGNMENT)
        return self._number


def _is_known(size):
    return type(size) is int and 0 < size <= KNOWN_ALIGNMENT and KNOWN_ALIGNMENT % size == 0


def _plain(value):
    return value._number if isinstance(value, Address) else value


def _refused(name):
    def refused(self, *others):
        return getattr(operator, name, divmod)(self._refuse(), *map(_plain, others))
    return refused


def _refused_from_right(name):
    def refused(self, other):
        return getattr(operator, name, divmod)(_plain(other), self._refuse())
    return refused


for _name in "add sub mul pow divmod floordiv truediv lshift rshift or xor".split():
    setattr(Address, "__%s__" % _name, _refused("__%s__" % _name))
    setattr(Address, "__r%s__" % _name, _refused_from_right("__%s__" % _name))
for _name in "lt le gt ge index invert neg pos abs".split():
    setattr(Address, "__%s__" % _name, _refused("__%s__" % _name))
for _name, _kind in (("int", int), ("float", float)):
    setattr(Address, "__%s__" % _name, lambda self, kind=_kind: kind(self._refuse()))
