"""`synth_problems`: the constraints that it says `kernelwright synth` solved are those of the rows, in plain
integers, without the code under test. bench/synth_cpsat.py gives them to another solver."""

import json
import math
import os
import pathlib
import subprocess
import sys

import pytest

from command import ROOT, binary, run

sys.path.insert(0, str(ROOT / "bench"))
import size_problem  # noqa: E402


def draw(tmp_path, *flags):
    """Problems, and the rows of the same programs."""
    flags = list(map(str, flags))
    tool = pathlib.Path(os.environ.get("KW_BUILD_DIR", pathlib.Path(binary()).parent), "synth_problems")
    process = subprocess.run([tool, *flags], capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    rows = tmp_path / "rows.jsonl"
    synth = run("synth", "--no-hygiene", "--out", rows, *flags)
    assert synth.returncode == 0, synth.stderr
    return [[json.loads(line) for line in text.splitlines()]
            for text in (process.stdout, rows.read_text())]


@pytest.mark.parametrize("level, count, flags", [
    (1, 300, ()), (2, 300, ("--seed", 7)), (5, 200, ()), (20, 20, ()), (3, 200, ("--window", "4096:65536")),
])
def test_problems_are_those_of_the_rows(tmp_path, level, count, flags):
    problems, rows = draw(tmp_path, "--level", level, "--count", count, *flags)
    assert len(problems) == len(rows) == count
    for problem, row in zip(problems, rows):
        slots = size_problem.fill(problem, problem["drawn"])
        shapes = size_problem.shapes(problem, slots)
        assert shapes == row["tensors"], row["id"]
        assert size_problem.flops(problem, slots) == row["flops"], row["id"]
        assert problem["window"] == row["window"], row["id"]
        assert size_problem.broken(problem, problem["drawn"]) == [], row["id"]
        # What solvers are given of elements, beside those of the shapes.
        elements = [math.prod(shape) for shape in shapes.values()]
        products = [math.prod(slots[slot] for slot in monomial["slots"])
                    for monomial in problem["monomials"]]
        assert sum(elements) == sum(monomial["total"] * product for monomial, product in
                                    zip(problem["monomials"], products)), row["id"]
        assert max(elements) == max(monomial["largest"] * product for monomial, product in
                                    zip(problem["monomials"], products)), row["id"]
        assert all(seconds >= 0 for seconds in problem["seconds"].values())


def test_wrong_sizes_break_them(tmp_path):
    """Each kind of constraint says no, and no other sizes than drawn give the row's."""
    kinds, unlike = set(), 0
    problems, rows = draw(tmp_path, "--level", 5, "--count", 200)
    for problem, row in zip(problems, rows):
        for i, (low, high, values) in enumerate(problem["free"]):
            for value in {low, high, low - 1, high + 1} - {problem["drawn"][i]}:
                sizes = [*problem["drawn"][:i], value, *problem["drawn"][i + 1:]]
                complaints = size_problem.broken(problem, sizes)
                assert low <= value <= high or complaints
                kinds |= {" ".join(complaint.split()[:2]) for complaint in complaints}
                shapes = size_problem.shapes(problem, size_problem.fill(problem, sizes))
                assert shapes != row["tensors"], row["id"]
                unlike += 1
    assert {kind.split()[0] for kind in kinds} == {"free", "slot", "sizes", "elements", "FLOPs"}
    assert {"elements of", "elements together"} <= kinds
    assert unlike > 1000


def test_mistakes_are_named():
    tool = pathlib.Path(os.environ.get("KW_BUILD_DIR", pathlib.Path(binary()).parent), "synth_problems")
    process = subprocess.run([tool, "--window", "5"], capture_output=True, text=True)
    assert process.returncode != 0 and "--window" in process.stderr
