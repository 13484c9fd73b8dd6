"""The memory of an interpreted launch: its buffers, and nothing else.

An address is (buffer number + 1) << 40, plus a byte offset. An access outside the buffer that its
address points into is OutOfBounds, so a kernel can neither read nor write what it was not given.
"""

import numpy as np

import elements

BUFFER_SHIFT = 40


class Fault(Exception):
    """The kernel does what no kernel may."""


class OutOfBounds(Fault):
    """The kernel touches memory outside its arguments."""

    def __str__(self):
        return "touches memory outside its arguments: " + super().__str__()


class Reads:
    """The words of memory that a round of a loop reads; or many, which are not told apart."""

    def __init__(self, around=None):
        self.words, self.many, self.around = set(), False, around

    def note(self, words):
        self.many |= words.size > 1024 or len(self.words) > 4096
        if not self.many:
            self.words.update(words.ravel().tolist())
        if self.around is not None:
            self.around.note(words)

    def same(self, other):
        return other is not None and bool(self.words) and not self.many and self.words == other.words


class Memory:
    """The launch's buffers. `arrays` are writable uint8 arrays. If `watched`, `changes` counts the
    writes that changed something. `changed`, if there is one, gets their words, and `reads` notes what is
    read. A word is an address without its last three bits: no access crosses its end."""

    def __init__(self, arrays):
        self.arrays = arrays
        self.views = {}
        self.watched, self.changes = False, 0
        self.changed, self.reads = None, None

    @staticmethod
    def address(buffer, offset):
        return ((buffer + 1) << BUFFER_SHIFT) + offset

    def copy(self):
        return [array.copy() for array in self.arrays]

    def restore(self, copies):
        for array, copy in zip(self.arrays, copies):
            array[...] = copy

    def _locate(self, addresses, element):
        """(view of the buffer, element indices) for addresses that share one buffer."""
        low, high = int(addresses.min()), int(addresses.max())
        buffer = (low >> BUFFER_SHIFT) - 1
        dtype = np.dtype(elements.MEMORY[element])
        if low < 0 or not 0 <= buffer < len(self.arrays) or buffer != (high >> BUFFER_SHIFT) - 1:
            return None
        base = (buffer + 1) << BUFFER_SHIFT
        size = self.arrays[buffer].nbytes
        if high - base + dtype.itemsize > size:
            before = (1 << BUFFER_SHIFT) - (high - base)  # the next buffer's address is near
            if before < 1 << (BUFFER_SHIFT - 1):
                raise OutOfBounds("%d bytes before the start of a buffer" % before)
            raise OutOfBounds("%d bytes past the end of a buffer of %d" % (
                high - base + dtype.itemsize - size, size))
        offsets = addresses - base
        if dtype.itemsize > 1:
            if np.bitwise_or.reduce(offsets, axis=None) & (dtype.itemsize - 1):
                raise OutOfBounds("a misaligned address")
            offsets >>= dtype.itemsize.bit_length() - 1
        view = self.views.get((buffer, dtype))
        if view is None:
            usable = self.arrays[buffer].nbytes // dtype.itemsize * dtype.itemsize
            view = self.views[buffer, dtype] = self.arrays[buffer][:usable].view(dtype)
        return view, offsets

    def _groups(self, addresses):
        """Index arrays of the addresses that lie in one buffer each."""
        buffers = addresses >> BUFFER_SHIFT
        for buffer in np.unique(buffers):
            if not 0 < buffer <= len(self.arrays):
                raise OutOfBounds("an address in no buffer")
            yield np.nonzero(buffers == buffer)

    def load(self, addresses, element):
        """Raw elements at an array of addresses."""
        if addresses.size == 0:
            return np.empty(addresses.shape, elements.MEMORY[element])
        if self.reads is not None:
            self.reads.note(addresses >> 3)
        place = self._locate(addresses, element)
        if place is not None:
            return place[0][place[1]]
        result = np.empty(addresses.shape, elements.MEMORY[element])
        for group in self._groups(addresses):
            view, offsets = self._locate(addresses[group], element)
            result[group] = view[offsets]
        return result

    def store(self, addresses, raw, element):
        if addresses.size == 0:
            return
        place = self._locate(addresses, element)
        if place is not None:
            self._put(addresses, *place, raw)
            return
        for group in self._groups(addresses):
            self._put(addresses[group], *self._locate(addresses[group], element), raw[group])

    def _put(self, addresses, view, offsets, raw):
        if self.watched and (view[offsets] != raw).any():
            self._note_change(addresses)
        view[offsets] = raw

    def _note_change(self, addresses):
        self.changes += 1
        if self.changed is not None:
            self.changed.append(addresses >> 3)

    def update(self, operation, addresses, raw, element):
        """Unordered read-modify-write of raw elements."""
        if self.watched:
            self._note_change(addresses)
        for group in self._groups(addresses):
            view, offsets = self._locate(addresses[group], element)
            operation.at(view, offsets, raw[group])
