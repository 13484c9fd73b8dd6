"""Cases of the corpora, on the CPU: wrong programs are rejected where they must be and by the check that is
there for them, their twins, honest cases and files that lie are accepted (docs/formats/corpus.md). All of them,
or one for each family and check if nothing has changed that judges them (corpora_record.py)."""

import json
import pathlib

import pytest

import corpora_record
from command import ALL_TESTS, ROOT, commit, run

CORPORA = ROOT / "tests/corpora"
CASES = {path.name: path for path in sorted(CORPORA.rglob("*.py"))}
JUDGED = sorted(CASES) if ALL_TESTS or not corpora_record.is_current() else sorted(
    corpora_record.sample(commit()))


@pytest.fixture(scope="module")
def results():
    """Case -> what selftest says of it."""
    process = run("selftest", *(CASES[name] for name in JUDGED), "--backend", "cpu", "--json",
                  timeout=3600)
    assert process.returncode in (0, 1), process.stderr
    return {result["case"]: result for result in map(json.loads, process.stdout.splitlines())}


@pytest.mark.parametrize("name", JUDGED)
def test_case(results, name):
    assert results[name]["surprise"] == ""


def test_names_are_those_of_files():
    assert len(CASES) == len(list(CORPORA.rglob("*.py")))


def test_most_cases_are_judged_here(results):
    for label in ("program wrong", "honest"):
        cases = [r for r in results.values() if r["label"] == label]
        judged = [r for r in cases if r["judged"] and
                  r["candidate"]["outcome"] != "not judged"]
        assert len(judged) >= 0.9 * len(cases)


def test_a_broken_case_is_named(tmp_path):
    (tmp_path / "case.py").write_text("# program wrong | family: f | mechanism: m | stage: lunch\n")
    process = run("selftest", tmp_path / "case.py", "--backend", "cpu")
    assert process.returncode == 2
    assert "case.py:1: there is no stage 'lunch'" in process.stderr


def swapped(path, folder):
    """A file in which the twin takes the place of the wrong program: nothing is left to be rejected."""
    text = path.read_text()
    twin = text.partition("# %% twin\n")[2]
    head = text.partition("# %% candidate\n")[0]
    file = pathlib.Path(folder) / path.name
    file.write_text(head + "# %% candidate\n" + twin + "# %% twin\n" + twin)
    return file


def test_an_accepted_wrong_program_is_a_surprise(tmp_path):
    wrong = next(path for path in CASES.values() if "attacks" in path.parts)
    process = run("selftest", swapped(wrong, tmp_path), "--backend", "cpu")
    assert process.returncode == 1
    assert "ACCEPTED" in process.stdout and "1 surprise" in process.stdout
