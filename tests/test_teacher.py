"""A quick part of teacher_oracle.py: every fixed fragment with one schedule, some random ones."""

import os
import random

import pytest

import teacher_copies
import teacher_oracle as oracle
import teacher_rows

EMIT = os.environ.get("KERNELWRIGHT_TEACHER_EMIT",
                      os.path.join(os.environ.get("KW_BUILD_DIR", os.path.join(oracle.ROOT, "build")),
                                   "teacher_emit"))


@pytest.fixture(scope="module")
def teacher():
    assert os.path.exists(EMIT), "%s is not built" % EMIT
    oracle.prepare()
    return oracle.Teacher(EMIT, 2)


def check(fragment, teacher):
    try:
        _, complaints = oracle.check(fragment, teacher, seed=1)
    except oracle.Unrecordable:
        return
    assert not complaints, "\n".join("%s%s" % (plan, why) for plan, _, why in complaints)


@pytest.mark.parametrize("fragment", oracle.fixed_fragments(), ids=lambda f: f.name)
def test_fragment(fragment, teacher):
    check(fragment, teacher)


@pytest.mark.parametrize("fragment", teacher_rows.fragments(), ids=lambda f: f.name)
def test_rows(fragment, teacher):
    check(fragment, teacher)


@pytest.mark.parametrize("index", range(25))
def test_random_rows(index, teacher):
    check(teacher_rows.random_fragment(random.Random("rows%d" % index), index), teacher)


@pytest.mark.parametrize("fragment", teacher_copies.fixed_fragments(), ids=lambda f: f.name)
def test_copies_and_windows(fragment, teacher):
    check(fragment, teacher)


@pytest.mark.parametrize("index", range(25))
@pytest.mark.parametrize("kind", [teacher_copies.random_copy, teacher_copies.random_window],
                         ids=["copy", "window"])
def test_random_copies_and_windows(kind, index, teacher):
    fragment = kind(random.Random("%s%d" % (kind.__name__, index)), index)
    try:
        teacher_copies.runs_on_cpu(fragment)
    except oracle.Unrecordable:
        return
    check(fragment, teacher)


@pytest.mark.parametrize("index", range(25))
def test_random_expression(index, teacher):
    check(oracle.random_fragment(random.Random("expression%d" % index), index), teacher)


@pytest.mark.parametrize("index", range(10))
def test_random_product(index, teacher):
    check(oracle.random_matmul(random.Random("product%d" % index), index), teacher)
