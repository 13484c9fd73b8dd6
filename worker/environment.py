"""Values by name in the interpreter, for all instances of a batch or for those on one side of a branch.
"""

import numpy as np

from elements import register_type


class Env(dict):
    """Values by name. A child env sees its parent's values, cut to the instances it runs."""

    def __init__(self, count, parent=None, index=None):
        super().__init__()
        self.count, self.parent, self.index = count, parent, index

    def __missing__(self, name):
        if self.parent is None:
            raise KeyError(name)
        value = self.parent[name]
        if self.index is not None and value.shape[0] != 1:
            value = value[self.index]
        self[name] = value
        return value

    def split(self, index):
        return Env(len(index), self, index)


def merge(total, pieces, types):
    """Results of groups of instances as results of all. pieces: [(index, values)]."""
    if len(pieces) == 1:
        return pieces[0][1]
    merged = []
    for position, kind in enumerate(types):
        shape = pieces[0][1][position].shape[1:]
        whole = np.empty((total, *shape), register_type(kind.element))
        for index, values in pieces:
            whole[index] = values[position]
        merged.append(whole)
    return merged


class Elements(Env):
    """The environment of a combine region, which runs on each element of an array as a separate
    instance. What is outside of the region is one value for all elements of an instance."""

    def __missing__(self, name):
        value = self.parent[name]
        if value.shape[0] != 1:
            value = np.repeat(value, self.count // value.shape[0])
        self[name] = value
        return value
