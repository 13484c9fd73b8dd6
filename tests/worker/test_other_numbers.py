"""Other plain numbers for arguments (worker/other_numbers.py)."""

import pytest
import torch

import other_numbers

ARGUMENTS = [8, True, {"rate": 0.5, "sizes": (1, -6)}, "text", None, 0.0]


def test_all_numbers_become_others_of_their_kind():
    changed = other_numbers.changed(ARGUMENTS, "all")
    assert changed == [4, False, {"rate": 0.375, "sizes": (2, -3)}, "text", None, 0.25]
    assert [type(a) for a in changed] == [type(a) for a in ARGUMENTS]


def test_floats_alone():
    assert other_numbers.changed(ARGUMENTS, "floats") == \
        [8, True, {"rate": 0.375, "sizes": (1, -6)}, "text", None, 0.25]


@pytest.mark.parametrize("place", range(6))
def test_one_alone(place):
    def numbers(value):
        if isinstance(value, (bool, int, float)):
            return [value]
        items = value.values() if isinstance(value, dict) else value
        return [n for item in items for n in numbers(item)] if isinstance(value, (list, tuple, dict)) else []
    before, after = numbers(ARGUMENTS), numbers(other_numbers.changed(ARGUMENTS, place))
    assert [i for i in range(6) if before[i] != after[i]] == [place]


def test_tensors_stay():
    x = torch.ones(3)
    assert other_numbers.changed([x, 3], "all")[0] is x
