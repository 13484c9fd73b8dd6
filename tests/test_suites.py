"""Suites as users have them: folders of levels and rows in KernelBench's format, and operators with
tests, as TritonBench-T has them. All models here were written for these tests."""

import importlib.util
import json
import shutil

import pytest
import torch

from command import TESTS, run

LEVELS = TESTS / "suites" / "levels"
OPERATORS = TESTS / "suites" / "operator_tests"
FLAGS = ("--backend", "cpu", "--trials", "1", "--seed", "3", "--json")


def evaluated(*args):
    """The models' lines by their files, and the last line."""
    process = run("eval", *args, *FLAGS)
    assert process.returncode == 0, process.stderr
    *lines, last = [json.loads(line) for line in process.stdout.splitlines()]
    assert len({line["model"] for line in lines}) == len(lines)
    return {line["model"]: line for line in lines}, last


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    out = tmp_path_factory.mktemp("written")
    return *evaluated(LEVELS, "--out", out), out


def names():
    return sorted(path.relative_to(LEVELS).with_suffix("").as_posix()
                  for path in LEVELS.rglob("*.py"))


def test_levels_are_subfolders(levels):
    lines, last, _ = levels
    assert len(lines) == len(names()) == 10
    outcomes = {name: lines["%s/%s.py" % (LEVELS, name)]["outcome"] for name in names()}
    assert set(outcomes.values()) == {"verified"}, outcomes
    assert sorted(last["levels"]) == ["level1", "level2", "level3"]
    for level, metrics in last["levels"].items():
        of_level = [name for name in names() if name.startswith(level + "/")]
        assert metrics["tasks"] == metrics["correct"] == len(of_level) > 0
        assert metrics["solved"]["value"] == metrics["pass_at"]["1"]["value"] == 1
    assert last["summary"]["tasks"] == sum(each["tasks"] for each in last["levels"].values())


def test_what_is_written_lies_as_the_suite_does_and_can_be_replayed(levels, tmp_path):
    lines, _, out = levels
    assert sorted(p.relative_to(out).as_posix() for p in out.rglob("*.py")) == sorted(
        name + end for name in names() for end in (".0.py", ".0.fragment.py", ".reference.py"))
    one, wrong = (LEVELS / "level2" / name for name in ("1_linear_relu_scale.py",
                                                        "3_product_mean_sigmoid.py"))
    answers = tmp_path / "answers"
    shutil.copytree(out / "level2", answers / "level2")
    broken = answers / "level2" / "3_product_mean_sigmoid.0.fragment.py"
    broken.write_text("class ModelNew:\n    pass\n")
    again, last = evaluated(one, wrong, "--policy", "replay", "--answers", answers)
    assert again[str(one)]["outcome"] == lines[str(one)]["outcome"] == "verified"
    assert again[str(wrong)]["outcome"] == "rejected"
    assert "levels" not in last  # files that were named are of none


def test_a_folder_of_tasks_says_how_to_name_them(tmp_path):
    (tmp_path / "level1.jsonl").write_text("{}\n")
    process = run("eval", tmp_path, *FLAGS)
    assert process.returncode == 2
    assert f"named each, such as {tmp_path / 'level1.jsonl'}" in process.stderr


def test_equal_names_in_two_levels_are_two_models(tmp_path):
    suite, answers = tmp_path / "suite", tmp_path / "answers"
    for level, body in (("easy", "x + 1"), ("hard", "x * 2")):
        (suite / level).mkdir(parents=True)
        (suite / level / "same.py").write_text(
            "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
            "        return %s\n\n\ndef get_inputs():\n    return [torch.randn(20, 30)]\n" % body)
    (suite / "__pycache__").mkdir()
    (suite / "__pycache__" / "no_model.py").write_text("no model")
    found, last = evaluated(suite, "--out", answers)
    assert len(found) == 2 and set(last["levels"]) == {"easy", "hard"}
    found, _ = evaluated(suite, "--policy", "replay", "--answers", answers)
    assert {line["outcome"] for line in found.values()} == {"verified"}
    # What is written in a suite's folder would be part of it.
    for inside in (suite, suite / "out", tmp_path / "suite" / "easy" / ".." / "out"):
        process = run("eval", suite, *FLAGS, "--out", inside)
        assert process.returncode == 2 and "lies in" in process.stderr
    # With one name in two suites, what is written would have one.
    process = run("eval", suite / "easy", suite / "hard", *FLAGS, "--out", tmp_path / "out")
    assert process.returncode == 2 and "would both be called same" in process.stderr


OPERATOR = """import torch


def clipped(x, by=2):
    return torch.relu(x) * by


def test_clipped():
    x = torch.randn(40, 30)
    return clipped(x), clipped(torch.randn(7), by=3)
"""

# As TritonBench has its answers: the operator itself.
FUNCTION = """import torch
import triton
import triton.language as tl


@triton.jit
def clipped_kernel(x, out, n, by, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.maximum(tl.load(x + at, mask=at < n), 0)
    tl.store(out + at, value * by, mask=at < n)


def clipped(x, by=2):
    out = torch.empty_like(x)
    clipped_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), by, BLOCK=256)
    return out
"""


def test_answers_may_be_a_function(tmp_path):
    (tmp_path / "clipped.py").write_text(OPERATOR)
    answers = tmp_path / "answers"
    answers.mkdir()
    (answers / "clipped.0.py").write_text(FUNCTION)
    said = "<think>```python\ndef clipped(x): pass\n```</think>By a kernel.\n\n```python\n%s```\nThat is all.\n" % FUNCTION
    (answers / "clipped.1.md").write_text(said)
    (answers / "clipped.2.py").write_text(FUNCTION.replace("value * by", "value * 2"))
    (answers / "clipped.3.py").write_text(FUNCTION.replace("def clipped(", "def other("))
    found, _ = evaluated(tmp_path / "clipped.py", "--policy", "replay", "--answers", answers, "--samples", "4",
                         "--coverage", "pure", "--out", tmp_path / "out")
    (line,) = found.values()
    assert [(sample["outcome"], sample["rejected_at"]) for sample in line["samples"]] == [
        ("accepted", None), ("accepted", None), ("rejected", "correct"), ("rejected", "load")], line
    assert line["samples"][1]["plan"] == "By a kernel."
    # What stands for the model takes its place anywhere.
    process = run("verify", "--backend", "cpu", "--trials", "1", tmp_path / "out" / "clipped.reference.py",
                  tmp_path / "out" / "clipped.0.py")
    assert process.returncode == 0, process.stdout + process.stderr


BOOK_CLASS = """import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, width, *, slope=0.5):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(width))
        self.slope = slope

    def forward(self, x):
        return torch.nn.functional.leaky_relu(x * self.scale, self.slope)


def get_inputs():
    return [torch.rand([4, 4, 4, 6])]


def get_init_inputs():
    return %s
"""


def test_rows_of_kernelbook(tmp_path):
    """A class of any name, made with positional and named arguments; and one that is called Model."""
    rows = [{"uuid": "ab-12", "entry_point": "Gate", "python_code": BOOK_CLASS % "[[6], {'slope': 0.25}]"},
            {"uuid": 7, "entry_point": "Gate", "repo_name": "a/b", "triton_code": "",
             "python_code": BOOK_CLASS % "[[6], {'slope': 0.25}]"},
            {"uuid": None, "entry_point": "Model",
             "python_code": BOOK_CLASS.replace("Gate", "Model") % "[[], {'width': 6, 'slope': 0.25}]"}]
    book = tmp_path / "book.jsonl"
    book.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found, _ = evaluated(book)
    assert {name: line["outcome"] for name, line in found.items()} == {
        "Gate_ab-12.py": "verified", "Gate_7.py": "verified", "Model_3.py": "verified"}
    assert found["Gate_7.py"]["task"] == found["Model_3.py"]["task"] == found["Gate_ab-12.py"]["task"]
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"uuid": 1, "entry_point": "Gate", "python_code": BOOK_CLASS % "[[6], {}]"}))
    found_other, _ = evaluated(other)  # the slope is part of the program
    assert found_other["Gate_1.py"]["task"] != found["Gate_7.py"]["task"]
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps({"entry_point": "Gate()", "python_code": ""}) + "\n")
    process = run("eval", bad, *FLAGS)
    assert process.returncode == 2 and "expected the name of a class" in process.stderr


def test_rows_of_a_data_set(levels, tmp_path):
    """The same models as rows: the same tasks."""
    lines, _, _ = levels
    rows = tmp_path / "rows.jsonl"
    wanted = {}
    with rows.open("w") as file:
        for name in ("level1/1_row_softmax", "level2/3_product_mean_sigmoid"):
            level, _, problem = name.partition("/")
            row = {"code": (LEVELS / (name + ".py")).read_text(), "level": int(level[5:]),
                   "name": problem, "problem_id": int(problem.partition("_")[0])}
            file.write(json.dumps(row) + "\n\n")
            wanted[name + ".py"] = lines["%s/%s.py" % (LEVELS, name)]["task"]
    found, last = evaluated(rows)
    assert {name: line["task"] for name, line in found.items()} == wanted
    assert {level: each["correct"] for level, each in last["levels"].items()} == {
        "level1": 1, "level2": 1}
    for name, row in (("above", {"id": "../../evil", "model": "import torch\n"}),
                      ("elsewhere", {"id": "/tmp/evil", "model": "import torch\n"}),
                      ("long", {"code": "import torch\n", "name": "n" * 300, "level": None})):
        bad = tmp_path / (name + ".jsonl")
        bad.write_text("\n" * (name == "long") + json.dumps(row) + "\n")
        process = run("eval", bad, *FLAGS, "--out", tmp_path / "out")
        assert process.returncode == 2 and "a model is called" in process.stderr, process.stderr
    with rows.open("a") as file:
        file.write('{"code": 3}\n')
    process = run("eval", rows, *FLAGS)
    assert process.returncode == 2 and "rows.jsonl:5" in process.stderr


def test_shards_of_a_run_that_is_kept(tmp_path):
    """Each in a folder; tests are made models anew, whose texts are not what tells runs apart."""
    suite = tmp_path / "suite"
    suite.mkdir()
    for name in ("one", "two"):
        (suite / (name + ".py")).write_text(
            "import random\nimport torch\n\n\ndef %s(x, by):\n    return x * by\n\n\ndef test():\n"
            "    names = {'a', 'b', 'c', 'd', 'e'}\n"
            "    for name in names:\n        %s(torch.randn(4, 50), ord(name))\n" % (name, name))
    common = ("eval", suite, "--backend", "cpu", "--trials", "1", "--seed", "3", "--json")
    folders = [tmp_path / str(part) for part in (1, 2)]
    for part, folder in enumerate(folders, 1):
        assert run(*common, "--out", folder, "--shard", "%d/2" % part).returncode == 0
    merged = run(*common, "--out", tmp_path / "all", "--merge", folders[0], "--merge", folders[1] / "lines.jsonl")
    assert merged.returncode == 0, merged.stderr
    assert json.loads(merged.stdout.splitlines()[-1])["summary"]["correct"] == 2
    process = run(*common, "--shard", "1/2")
    assert process.returncode == 2 and "--out" in process.stderr


def test_a_folder_is_of_one_run(tmp_path):
    """Wherever its lines lie: shards may share it, another run may not."""
    suite = tmp_path / "suite"
    suite.mkdir()
    for name in ("1_row_softmax", "4_max_pool"):
        shutil.copy(LEVELS / "level1" / (name + ".py"), suite)
    common = ("eval", suite, *FLAGS)
    out = tmp_path / "out"
    for part in (1, 2):
        process = run(*common, "--out", out, "--lines", tmp_path / ("%d.jsonl" % part), "--shard", "%d/2" % part)
        assert process.returncode == 0, process.stderr
    kept = {path.name: path.read_text() for path in out.iterdir()}
    assert len([name for name in kept if name.endswith(".reference.py")]) == 2
    for lines in ((), ("--lines", tmp_path / "other.jsonl")):
        process = run(*common, "--samples", "3", "--out", out, *lines)
        assert process.returncode == 2, process.stderr
        assert "--out %s: is of another run, which differs in --samples" % (out / "lines.jsonl") in process.stderr
        assert {path.name: path.read_text() for path in out.iterdir()} == kept
    process = run("report", out)
    assert process.returncode == 2 and "has no models yet" in process.stderr
    # A run that was ended before its first line leaves an empty file; what is refused claims nothing.
    new = tmp_path / "new"
    new.mkdir()
    (new / "lines.jsonl").touch()
    process = run(*common, "--samples", "3", "--out", new, "--lines", tmp_path / "1.jsonl")
    assert process.returncode == 2 and not (new / "lines.jsonl").read_text()
    process = run(*common, "--samples", "3", "--out", new, "--lines", tmp_path / "3.jsonl", "--merge", tmp_path / "1.jsonl")
    assert process.returncode == 2 and not (new / "lines.jsonl").read_text() and not (tmp_path / "3.jsonl").exists()
    for part in (1, 2):
        assert run(*common, "--out", new, "--lines", tmp_path / ("%d.jsonl" % part), "--shard", "%d/2" % part).returncode == 0
    assert run(*common, "--samples", "3", "--out", new, "--lines", tmp_path / "3.jsonl").returncode == 2
    process = run(*common, "--out", out, "--merge", tmp_path / "1.jsonl", "--merge", tmp_path / "2.jsonl")
    assert process.returncode == 0 and json.loads(process.stdout.splitlines()[-1])["summary"]["tasks"] == 2


def test_a_command_that_is_refused_leaves_nothing(tmp_path):
    out = tmp_path / "out"
    process = run("eval", LEVELS, *FLAGS, "--policy", "openai", "--out", out)
    assert process.returncode == 2 and "--policy-url" in process.stderr
    assert not out.exists()


@pytest.fixture(scope="module")
def operators(tmp_path_factory):
    out = tmp_path_factory.mktemp("operators")
    return *evaluated(OPERATORS, "--out", out), out


def test_operators_with_tests(operators):
    lines, last, _ = operators
    found = {name.rpartition("/")[2]: line for name, line in lines.items()}
    assert {name: line["outcome"] for name, line in found.items()} == {
        "scaled_sum.py": "verified", "gated_mean.py": "verified", "by_value.py": "unusable"}
    assert "by_value.py:12" in found["by_value.py"]["reason"]
    assert last["summary"]["tasks"] == 2


def loaded(path, text):
    path.write_text(text.replace('"cuda"', '"cpu"'))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name, tests", [("scaled_sum", ["test_scaled_sum"]),
                                         ("gated_mean", ["test_rows", "test_keepdim"])])
def test_the_model_makes_the_calls_of_the_test(operators, tmp_path, name, tests):
    """What it gives is what the tests get, from the same random numbers."""
    _, _, out = operators
    original = loaded(tmp_path / (name + "_tests.py"), (OPERATORS / (name + ".py")).read_text())
    made = loaded(tmp_path / (name + "_model.py"), (out / (name + ".0.py")).read_text())
    torch.manual_seed(11)
    wanted = []
    for test in tests:
        result = getattr(original, test)()
        wanted += result.values() if isinstance(result, dict) else [result]
    torch.manual_seed(11)
    found = made.Model()(*made.get_inputs())
    assert len(found) == len(wanted) and all(map(torch.equal, found, wanted))


NO_MODELS = {
    "without": ("def test_nothing():\n    return 1", "no function test... that calls another"),
    "numbers": ("def test_double():\n    return double(3)", "no test calls double with a tensor"),
    "function": ("def test_double():\n    return double(torch.ones(3), torch.relu)",
                 "a test calls double with a"),
    "shapes": ("def test_double():\n    return double(torch.ones(3) @ torch.ones(4))",
               "shapes.py:9: the test raised"),
    "syntax": ("def test_double(:", "syntax.py:8"),
    "blanks": ("def test_nothing():\n    return 1\nModel%s= 3 if" % (" " * 200_000), "blanks.py:10"),
    "letters": ("def test%s(" % ("a" * 500_000), "letters.py:8"),
    "endless": ("def test_double():\n    while True:\n        double(torch.ones(3))",
                "more than 256 calls"),
}


def test_tests_that_make_no_model(tmp_path):
    for name, (test, _) in NO_MODELS.items():
        (tmp_path / (name + ".py")).write_text(
            "import torch\n\n\ndef double(x, by=None):\n    return 2 * x\n\n\n%s\n" % test)
    lines, last = evaluated(tmp_path)
    assert last["summary"]["tasks"] == 0
    for name, (_, reason) in NO_MODELS.items():
        line = lines["%s/%s.py" % (tmp_path, name)]
        assert line["outcome"] == "unusable" and reason in line["reason"], line["reason"]
