"""A quick part of teacher_convolutions.py: every fixed fragment in two forms, some random ones."""

import os
import random

import pytest

import teacher_convolutions as convolutions
import teacher_oracle as oracle
from test_teacher import EMIT


@pytest.fixture(scope="module")
def teacher():
    assert os.path.exists(EMIT), "%s is not built" % EMIT
    oracle.prepare()
    return oracle.Teacher(EMIT, convolutions.ALL_SCHEDULES)


def check(fragment, teacher, limit):
    try:
        _, complaints = convolutions.check(fragment, teacher, 1, limit)
    except oracle.Unrecordable:
        return
    assert not complaints, "\n".join("%s%s" % (plan, why) for plan, _, why in complaints)


@pytest.mark.parametrize("fragment", convolutions.fixed_fragments(), ids=lambda f: f.name)
def test_fragment(fragment, teacher):
    check(fragment, teacher, 2)


@pytest.mark.parametrize("kind", ["sliding", "together"])
def test_windows_that_share_what_they_read(kind, teacher):
    """Sliding, in remainder classes, and for several output channels; in every dimension."""
    tried, index = {}, 0
    while sum(map(len, tried.values())) < 25:
        rng = random.Random("%s%d" % (kind, index))
        fragment = convolutions.random_convolution(rng, index)
        index += 1
        try:
            forms, complaints = convolutions.check(fragment, teacher, 1, 2, only=kind)
        except oracle.Unrecordable:
            continue
        assert not complaints, "\n".join("%s%s" % (p, why) for p, _, why in complaints)
        for form in forms:
            tried.setdefault("transpose" in fragment.body, []).append(str(form))
    if kind == "sliding":
        text = str(tried[False])
        assert True not in tried and all("sliding by %d" % n in text for n in (2, 4, 8)), text
    else:
        assert tried[True] and tried[False], "of few output channels and of remainder classes"


@pytest.mark.parametrize("index", range(12))
def test_random(index, teacher):
    rng = random.Random("convolution%d" % index)
    check(convolutions.random_convolution(rng, index), teacher, 2)
