"""A quick part of teacher_oracle.py: every fixed fragment with one schedule, some random ones."""

import ast
import os
import random

import pytest
import torch

import teacher_convolutions
import teacher_copies
import teacher_oracle as oracle
import teacher_products
import teacher_rows
from command import tail, third

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


@pytest.mark.parametrize("fragment", teacher_rows.fragments() + teacher_products.fragments(),
                         ids=lambda f: f.name)
def test_rows(fragment, teacher):
    check(fragment, teacher)


@pytest.mark.parametrize("index", tail(25))
@pytest.mark.parametrize("kind", [teacher_rows, teacher_products], ids=["rows", "products"])
def test_random_rows(kind, index, teacher):
    name = kind.__name__.removeprefix("teacher_")
    check(kind.random_fragment(random.Random("%s%d" % (name, index)), index), teacher)


@pytest.mark.parametrize("fragment", teacher_copies.fixed_fragments(), ids=lambda f: f.name)
def test_copies_and_windows(fragment, teacher):
    check(fragment, teacher)


@pytest.mark.parametrize("index", tail(25))
@pytest.mark.parametrize("kind", [teacher_copies.random_copy, teacher_copies.random_window],
                         ids=["copy", "window"])
def test_random_copies_and_windows(kind, index, teacher):
    fragment = kind(random.Random("%s%d" % (kind.__name__, index)), index)
    try:
        teacher_copies.runs_on_cpu(fragment)
    except oracle.Unrecordable:
        return
    check(fragment, teacher)


@pytest.mark.parametrize("fragment", oracle.unit_fragments(), ids=lambda f: f.name)
def test_dimensions_of_size_one(fragment, teacher):
    check(fragment, teacher)


@pytest.mark.parametrize("fragment", oracle.prologue_fragments(), ids=lambda f: f.name)
def test_what_is_computed_first_fits_shared_memory(fragment):
    oracle.prepare()
    tried, complaints = oracle.check_compile(fragment, oracle.Teacher(EMIT, 6))
    assert tried == 6
    assert not complaints, "\n".join("%s%s" % (plan, why) for plan, _, why in complaints)


def many_dimensions():
    """Sizes, strides and argument lists too long for a line."""
    I, F = oracle.Input, oracle.Fragment
    wide = I((4, 8, 6, 2, 3, 2, 3, 2), order=(7, 2, 5, 0, 1, 4, 3, 6))
    split = "y = a0.unflatten(1, (2, 4)).unflatten(0, (2, 2)).transpose(1, 5)\n"
    names = ", ".join("a%d" % i for i in range(14))
    return [
        F("wide_pointwise", "out = F.relu(a0) + a1", [wide, I(wide.shape)]),
        F("wide_split", split + "out = (y + 1).contiguous(), y * 2", [wide]),
        F("wide_split_sum", split + "out = y.sum((1, 3, 5, 7)), y.amax((1, 3, 5, 7))", [wide]),
        F("wide_split_norm", split + "out = torch.softmax(y.flatten(4), -1)", [I(wide.shape)]),
        F("wide_split_groups", "y = F.group_norm(a0.flatten(3), 4, a1, a2)\n"
          "out = y.unflatten(1, (2, 4)).transpose(1, 3) * 2",
          [I(wide.shape), I((8,)), I((8,))]),
        F("many_arguments", "out = sum([%s]).relu(), a3 * a7" % names, [I((6, 5, 4))] * 14)]


def test_all_sources_are_python():
    """Every schedule of every fragment is a module whose host code keeps to its lines."""
    oracle.prepare()
    teacher = oracle.Teacher(EMIT, 1000)
    fragments = (many_dimensions() + oracle.fixed_fragments() + oracle.unit_fragments() +
                 teacher_rows.fragments() + teacher_copies.fixed_fragments() +
                 teacher_convolutions.fixed_fragments() + teacher_products.fragments())
    written = 0
    for fragment in third(fragments):
        tensors = [spec.make(None) for spec in fragment.inputs]
        task = oracle.record(fragment.source(), "Model", tensors, teacher.operators)["task"]
        for proposal in teacher.propose(oracle.as_fragment(task))["proposals"]:
            tree = ast.parse(proposal["source"])
            assert isinstance(tree.body[-1], ast.ClassDef), fragment.name
            written += 1
    assert written > 300


@pytest.mark.parametrize("divisor", ["0.7", "-0.7", "a1"])
def test_remainders_jump_where_pytorchs_do(divisor, teacher):
    """Close to multiples of the divisor, where a quotient rounds to the next integer."""
    fragment = oracle.Fragment("", "out = torch.remainder(a0, %s)" % divisor, [])
    multiples = torch.arange(-300, 300, dtype=torch.float32) * 0.7
    tensors = [multiples] + ([torch.full((600,), 0.7)] if divisor == "a1" else [])
    fragment.inputs = [oracle.Input(tuple(t.shape)) for t in tensors]
    task = oracle.record(fragment.source(), "Model", tensors, teacher.operators)["task"]
    for proposal in teacher.propose(oracle.as_fragment(task))["proposals"]:
        got = oracle.run_candidate(proposal["source"], tensors, teacher.operators)
        want = torch.remainder(multiples, tensors[1] if divisor == "a1" else float(divisor))
        assert torch.equal(oracle.flatten(got)[0], want), proposal["source"]


@pytest.mark.parametrize("fragment", many_dimensions(), ids=lambda f: f.name)
def test_many_dimensions(fragment, teacher):
    check(fragment, teacher)


@pytest.mark.parametrize("index", tail(25))
def test_random_expression(index, teacher):
    check(oracle.random_fragment(random.Random("expression%d" % index), index), teacher)


@pytest.mark.parametrize("index", tail(10))
def test_random_product(index, teacher):
    check(oracle.random_matmul(random.Random("product%d" % index), index), teacher)


def deep_products():
    """Few tiles and a long way along the contracted dimension: worth a descriptor, soon computed.
    No size is a multiple of a block."""
    I, F = oracle.Input, oracle.Fragment
    half = "bfloat16"
    return {
        "rows": F("deep_linear", "out = torch.relu(F.linear(a0, a1, a2))",
                  [I((70, 8200), half), I((72, 8200), half), I((72,), half)]),
        "columns": F("deep_columns", "out = a0.t() @ a1",
                     [I((8200, 72), half), I((8200, 136), half)]),
        "float32": F("deep_float32", "out = a0 @ a1 + 1", [I((70, 4100)), I((4100, 72))]),
        "prologue": F("deep_prologue", "out = torch.exp(a0 * 0.1) @ a1",
                      [I((70, 8200), half), I((8200, 72), half)]),
        "batch": F("deep_batch", "out = torch.bmm(a0, a1.transpose(1, 2)) * 2",
                   [I((150, 17, 8200), half), I((150, 15, 8200), half)]),
    }


@pytest.mark.parametrize("name, kind", [
    (name, kind) for name in deep_products() for kind in ("TMA BLOCK", "TMA SPLITS")
    if (name, kind) != ("batch", "TMA SPLITS")] + [("batch", "TMA persistent"),
                                                   ("batch", "TMA flattened")])
def test_fetched_operands(name, kind):
    """Operands that the tensor memory accelerator fetches, in one schedule of each kind."""
    oracle.prepare()
    teacher = oracle.Teacher(EMIT, 1000)

    class One:
        operators = teacher.operators

        def propose(self, task):
            plans = [p for p in teacher.propose(task)["proposals"] if kind in p["plan"]]
            assert plans, "no schedule with " + kind
            assert all("TensorDescriptor(" in p["source"] for p in plans)
            return {"proposals": plans[:1]}

    check(deep_products()[name], One())
