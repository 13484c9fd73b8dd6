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


def test_sliding_windows(teacher):
    """Windows that share what they read, along every dimension that they may slide along."""
    tried, index = set(), 0
    while len(tried) < 30:
        rng = random.Random("sliding%d" % index)
        fragment = convolutions.random_convolution(rng, index)
        index += 1
        if "transpose" in fragment.body:
            continue
        try:
            forms, complaints = convolutions.check(fragment, teacher, 1, 2, only="sliding")
        except oracle.Unrecordable:
            continue
        assert not complaints, "\n".join("%s%s" % (p, why) for p, _, why in complaints)
        tried.update((index, form) for form in forms)
    for slide in (2, 4, 8):
        assert any("sliding by %d" % slide in str(form) for _, form in tried), tried


@pytest.mark.parametrize("index", range(12))
def test_random(index, teacher):
    rng = random.Random("convolution%d" % index)
    check(convolutions.random_convolution(rng, index), teacher, 2)
