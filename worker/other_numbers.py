"""Other plain numbers for the arguments that get_inputs returns.

A recording holds a plain number as it is. So a candidate that takes the sample's number for granted is
found only if both files are recorded again with another one.
"""


def changed(value, only_floats=False):
    """An argument whose numbers are others of the same kind, sign and range; floats in [0, 1] stay there.
    Tensors, texts and None stay. `only_floats`: integers and flags stay too, as they may be sizes,
    dimensions or modes."""
    if isinstance(value, bool):
        return value if only_floats else not value
    if isinstance(value, int):
        return value if only_floats else _other_integer(value)
    if isinstance(value, float):
        return value * 0.75 if value else 0.25
    if type(value) in (list, tuple):
        return type(value)(changed(item, only_floats) for item in value)
    if type(value) is dict:
        return {key: changed(item, only_floats) for key, item in value.items()}
    return value


def _other_integer(value):
    """Half of it, as a power of two may have to be one; small ones become the next."""
    if value in (-1, 0, 1):
        return value - 1 if value < 0 else value + 1
    return int(value / 2)
