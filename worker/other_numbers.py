"""Other plain numbers for the arguments that get_inputs returns.

A recording holds a plain number as it is. So a candidate that takes the sample's number for granted is
found only if both files are recorded again with another one.
"""


def changed(arguments, which):
    """Arguments whose numbers are others of the same kind, sign and range; floats in [0, 1] stay there.
    Tensors, texts and None stay. `which`: "all"; "floats", as integers and flags may be sizes,
    dimensions or modes; or the place of the only one that changes, counted from 0 in order."""
    return _Changed(which).tree(arguments)


class _Changed:
    def __init__(self, which):
        self.which = which
        self.count = 0

    def tree(self, value):
        if isinstance(value, (bool, int, float)):
            place = self.count
            self.count += 1
            concerned = (self.which == "all" or self.which == place or
                         self.which == "floats" and isinstance(value, float))
            return _other(value) if concerned else value
        if type(value) in (list, tuple):
            return type(value)(self.tree(item) for item in value)
        if type(value) is dict:
            return {key: self.tree(item) for key, item in value.items()}
        return value


def _other(value):
    """Half of an integer, as a power of two may have to be one; small ones become the next."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return value * 0.75 if value else 0.25
    if value in (-1, 0, 1):
        return value - 1 if value < 0 else value + 1
    return int(value / 2)
