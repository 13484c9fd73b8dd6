"""A share of the operator table's parity cases, on the CPU; all of them: operators/parity.py."""

import itertools
import os
import subprocess
import sys
import pathlib

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS / "operators"), str(TESTS)]

import parity  # noqa: E402
import teacher_oracle  # noqa: E402
from command import third  # noqa: E402
from draw import OPERATORS  # noqa: E402

BUILD = os.environ.get("KW_BUILD_DIR", str(TESTS.parent / "build"))
CASES = 3


@pytest.fixture(scope="module")
def outcomes():
    tool = os.path.join(BUILD, "replay_program")
    assert os.path.exists(tool), "%s is not built" % tool
    cases, by_operator = {name: [] for name in OPERATORS}, {name: [] for name in OPERATORS}
    for case in parity.draw_cases(CASES):
        cases[case.operator].append(case)
    tested = [case for each in cases.values() for case in third(each) or each]
    for case, outcome in parity.compare(tested, tool, "cpu", workers=2):
        by_operator[case.operator].append((case, outcome))
    return by_operator


@pytest.mark.parametrize("name", list(OPERATORS))
def test_parity(name, outcomes):
    different = ["%s: %s\n%s" % (case.name(), outcome.detail, case.call)
                 for case, outcome in outcomes[name] if outcome.kind == "different"]
    assert not different, "\n".join(different)


def test_exported_calls_record_as_what_was_exported(tmp_path):
    """Whatever spelling export chooses for an operator, PyTorch must hear the same call."""
    from refusal import Refused
    parity.start_recorder()
    tool = parity.Tool(os.path.join(BUILD, "replay_program"), "cpu", str(tmp_path))
    compared, spelled, different = 0, set(), []
    try:
        for case in parity.draw_cases(2):
            try:
                task = parity.record_text(case.source(), "Model", case.inputs)
            except Refused:
                continue
            reply = tool.ask({"task": task, "source": case.source()})
            assert "failed" not in reply, (case.name(), reply)
            again = parity.record_text(reply["python"], "ModelNew", case.inputs)
            compared += 1
            own = reply["python"].partition("def forward(self, *args")[2]
            spelled.update(step["op"] for step in task["forward"]["steps"]
                           if "torch.ops." + step["op"] not in own)
            if tool.ask({"task": again, "source": ""})["hash"] != reply["hash"]:
                different.append("%s\n%s" % (case.name(), own))
    finally:
        tool.close()
    assert not different, "\n".join(different)
    assert compared > 300 and len(spelled) > 30


def test_few_cases_are_refused(outcomes):
    kinds = [outcome.kind for rows in outcomes.values() for _, outcome in rows]
    assert kinds.count("refused") <= len(kinds) // 50
    assert kinds.count("explained") <= len(kinds) // 50


def test_the_comparison_sees_differences():
    import torch
    x = torch.tensor([1.0, -2.0, float("inf"), float("nan")])
    for change in (x + torch.tensor([1e-4, 0, 0, 0]), -x, x[:3], x.double(), x.nan_to_num()):
        assert parity.value_difference(change, x)[0]
    assert parity.value_difference(x.clone(), x)[0] is None
    assert parity.value_difference(torch.tensor([1, 2]), torch.tensor([1, 3]))[0]


DOCUMENT_SCRIPT = TESTS.parent / "scripts" / "operators_doc.py"


def test_the_document_is_current():
    assert subprocess.run([sys.executable, str(DOCUMENT_SCRIPT), "--check"]).returncode == 0


def test_the_list_of_opaque_operators_is_that_of_this_pytorch():
    script = TESTS.parent / "scripts" / "opaque_operators.py"
    assert subprocess.run([sys.executable, str(script), "--check"]).returncode == 0


@pytest.mark.parametrize("name", [
    "from_file.default",               # takes no tensor
    "_standard_gamma.default",         # draws
    "_philox_uniform.default",         # draws, and its tags do not say so
    "masked_select.default",           # as many elements as the data say
    "set.source_Tensor",               # gives a tensor other memory
    "native_batch_norm.default",       # overwrites statistics, and its schema does not say so
    "_to_sparse.default",              # another layout
    "item.default", "save.default"])   # no tensor; TorchScript's own
def test_operators_that_no_program_may_call_are_not_in_the_list(name):
    from recording import operator_table
    assert operator_table().get("aten." + name) in (None, "whole", "decompose")
    assert "aten.histc.default" in operator_table() and "aten.linalg_lu_solve.default" in operator_table()


# What a schema's arguments are given where they have no default.
GIVEN = {"Tensor": "a%d", "List[Tensor]": "[a0, a1]", "number": "2", "int": "1", "float": "0.5",
         "bool": "False", "List[int]": "[4, 4]"}
SHAPES = [(4, 4), (4,), (2, 4, 4, 4), (2, 4, 4)]


def plain_source(name):
    """A model that calls an operator with what its schema wants and no more; None: not so simple."""
    import torch
    namespace, base, overload = name.split(".")
    try:
        schema = getattr(getattr(getattr(torch.ops, namespace), base), overload)._schema
    except AttributeError:  # another torch has it
        return None
    given, tensors = [], 0
    for argument in schema.arguments:
        if argument.has_default_value():
            continue
        kind = str(argument.type)
        value = "None" if kind.startswith("Optional") else GIVEN.get(kind)
        if value is None or argument.kwarg_only:
            return None
        if kind == "Tensor":
            value, tensors = value % tensors, tensors + 1
        given.append("[1]" if (argument.name, kind) == ("dim", "List[int]") else value)
    if any(argument.name == "device" for argument in schema.arguments):
        given.append("device=a0.device")
    return ("import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, a0, a1, a2):\n"
            "        return torch.ops.%s(%s)\n" % (name, ", ".join(given)))


def drawn_tasks():
    from refusal import Refused
    for case in parity.draw_cases(2):
        try:
            yield parity.record_text(case.source(), "Model", case.inputs)
        except Refused:
            pass


def plain_tasks(name, table):
    """What records of a plain call of an operator, with floats or integers of some ranks."""
    source = plain_source(name)
    for dtype, shape in itertools.product(("float32", "int64"), SHAPES if source else []):
        tensors = [teacher_oracle.Input(shape, dtype).make(None) for _ in range(3)]
        try:
            yield teacher_oracle.record(source, "Model", tensors, table)["task"]
        except teacher_oracle.Unrecordable:
            pass


def test_the_document_says_what_the_teacher_writes():
    """Operators that it names in a refusal have a reason there, those in what it writes have none."""
    sys.path.insert(0, str(DOCUMENT_SCRIPT.parent))
    import operators_doc
    reasons = {row["name"]: operators_doc.unwritten(row) for row in operators_doc.rows()
               if row["recorded"] == "Whole"}
    parity.start_recorder()
    teacher = teacher_oracle.Teacher(os.path.join(BUILD, "teacher_emit"), 1)
    written, refused = set(), set()

    def ask(task):
        answer = teacher.propose(teacher_oracle.as_fragment(task))
        if answer["proposals"]:
            written.update(step["op"] for step in task["forward"]["steps"])
        elif answer["refusal"].endswith(" is not written by the teacher"):
            refused.add(answer["refusal"].split()[0])

    for task in drawn_tasks():
        ask(task)
    for name in reasons:
        for task in plain_tasks(name, teacher.operators) if name not in written | refused else []:
            ask(task)
            if name in written | refused:
                break
    assert len(written) > 250 and len(refused) > 50
    assert {name: reasons[name] for name in written if reasons.get(name)} == {}
    assert {name for name in refused - written if not reasons[name]} == set()
