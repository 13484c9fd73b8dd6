"""bench/families.py: each family's row is a model that is recorded, written, built and right."""

import json
import re
import subprocess
import sys

import pytest

from command import ROOT, binary

sys.path.insert(0, str(ROOT / "bench"))
import families  # noqa: E402


def run_families(out, *arguments):
    process = subprocess.run(
        [sys.executable, str(ROOT / "bench/families.py"), binary(), "--out", str(out), "--backend",
         "cpu", "--tiny", *arguments], capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stderr
    return json.loads(out.read_text())


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    out = tmp_path_factory.mktemp("families") / "families.json"
    return run_families(out, "--samples", "4", "--trials", "1", "--first", "1", "--only",
                        "normalisation,scan,matmul split,stencil,lookup,loss"), out


def test_five_sizes_of_each_family_and_no_two_alike():
    sources = set()
    for rows in families.FAMILIES.values():
        assert len(rows) == 5
        sources |= {families.model_source(row, tiny=False) for row in rows}
    assert len(sources) == 5 * len(families.FAMILIES)


def test_tiny_sizes_only_shrink_dimensions():
    for rows in families.FAMILIES.values():
        for row in rows:
            real, tiny = (families.model_source(row, t).splitlines() for t in (False, True))
            changed = [(a, b) for a, b in zip(real, tiny) if a != b]
            assert len(real) == len(tiny)
            for a, b in changed:
                assert re.fullmatch(r"[A-Z] = \d+", a) and int(b.split()[2]) < int(a.split()[2])


def test_each_model_has_a_schedule_that_is_right(measured):
    document, _ = measured
    assert len(document["models"]) == 6
    for row in document["models"]:
        accepted = [s for s in row["samples"] if s["outcome"] == "accepted"]
        assert accepted, row
        # Of samples that stand, one alone is judged in full.
        assert sum(s["in_full"] for s in row["samples"]) == 1
        assert row["outcome"] == "verified"


def test_samples_say_what_a_fit_needs_and_nothing_is_timed_without_a_gpu(measured):
    document, _ = measured
    for row in document["models"]:
        assert row["eager_ms"] is None and row["compiled_ms"] is None
        # Results so small may stay in L2; a product takes its time in any case.
        assert (row["floor_ms"] is None) == (row["group"] != "matmul split")
        names = set()
        for sample in row["samples"]:
            schedule = sample["schedule"]
            names.add(schedule["name"])
            assert schedule["name"].split(";")[0] in sample["plan"]
            assert schedule["family"] == sample["family"] and schedule["class"]
            assert schedule["model_seconds"] > 0 and schedule["memory_seconds"] > 0
            assert all(abs(x) < 10 for x in schedule["features"].values())
            assert sample["device_ms"] is None
        assert len(names) == len(row["samples"])
        assert len({s["schedule"]["class"] for s in row["samples"]}) == 1


def test_other_families_stay(measured):
    document, out = measured
    again = run_families(out, "--samples", "1", "--trials", "1", "--first", "1", "--only", "scan")
    assert {r["group"] for r in again["models"]} == {r["group"] for r in document["models"]}
    assert [len(r["samples"]) for r in again["models"] if r["group"] == "scan"] == [1]


def test_an_unknown_family_is_named(tmp_path):
    process = subprocess.run(
        [sys.executable, str(ROOT / "bench/families.py"), binary(), "--out", str(tmp_path / "x"),
         "--only", "sorting"], capture_output=True, text=True)
    assert process.returncode == 2 and "sorting" in process.stderr and "softmax" in process.stderr
