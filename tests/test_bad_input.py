"""Bad input by scripts/bad_inputs.py, those kinds that start no process with torch; and that what may be replaced is."""

import collections
import os
import pathlib
import sys

import pytest

from command import ROOT, SINE_MODEL, run

sys.path.insert(0, str(ROOT / "scripts"))
import bad_inputs  # noqa: E402

CHEAP = [kind for kind in bad_inputs.all_kinds() if not kind.workers]
CHUNKS = collections.defaultdict(list)
for _kind in CHEAP:
    CHUNKS[_kind.command.split()[0] if _kind.command else "no command"].append(_kind)


@pytest.mark.parametrize("command", sorted(CHUNKS))
def test_bad_input_is_told_and_costs_nobody_a_file(tmp_path, command):
    misses = []
    for number, kind in enumerate(CHUNKS[command]):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome = bad_inputs.run(kind, folder)
        misses += ["%s: %s\n%s" % (kind.name, fault, outcome.text) for fault in outcome.faults]
    assert not misses, "\n".join(misses)


def test_there_are_many_kinds_over_all_commands():
    kinds = bad_inputs.all_kinds()
    names = [kind.name + kind.command for kind in kinds]
    assert len(set(names)) == len(names) >= 150
    commands = {kind.command.split()[0] for kind in kinds if kind.command}
    assert commands >= {"optimize", "verify", "record", "synth", "eval", "report", "collect", "review", "train", "recipe",
                        "selftest", "doctor"}


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_bundle_is_replaced_by_another(tmp_path):
    out = tmp_path / "out"
    found = []
    for text in (SINE_MODEL, SINE_MODEL.replace("sin", "cos"), SINE_MODEL):
        (tmp_path / "model.py").write_text(text)
        process = run("record", tmp_path / "model.py", "--out", out)
        assert process.returncode == 0, process.stderr
        found.append(contents(out))
    assert found[0] == found[2] != found[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.py", "out"]


def test_a_page_and_a_table_are_replaced(tmp_path):
    bad_inputs.put_run(tmp_path / "run")
    page, table = tmp_path / "run" / "report.html", tmp_path / "table.csv"
    for _ in range(2):
        process = run("report", tmp_path / "run", "--csv", table)
        assert process.returncode == 0, process.stderr
        sizes = page.stat().st_size, table.stat().st_size
        page.write_bytes(page.read_bytes() + b"<!-- older -->")
        table.write_bytes(table.read_bytes() + b"older\r\n")
    run("report", tmp_path / "run", "--csv", table)
    assert (page.stat().st_size, table.stat().st_size) == sizes


def test_a_page_of_tasks_is_replaced(tmp_path):
    bad_inputs.put_tasks(tmp_path / "tasks.jsonl")
    flags = ("synth", "--stats", tmp_path / "tasks.jsonl", "--out", tmp_path / "page.html")
    assert run(*flags).returncode == 0
    first = (tmp_path / "page.html").read_bytes()
    (tmp_path / "page.html").write_bytes(first + b"<!-- older -->")
    assert run(*flags).returncode == 0
    assert (tmp_path / "page.html").read_bytes() == first


def test_a_result_keeps_a_users_file_that_came_meanwhile(tmp_path):
    out = tmp_path / "out"
    (tmp_path / "model.py").write_text(SINE_MODEL)
    assert run("record", tmp_path / "model.py", "--out", out).returncode == 0
    (out / "notes.txt").write_text("mine")
    before = contents(out)
    process = run("record", tmp_path / "model.py", "--out", out)
    assert process.returncode == 2 and "holds other files (notes.txt)" in process.stderr
    assert contents(out) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write anything")
def test_what_may_not_be_read_or_written_is_told(tmp_path):
    model = tmp_path / "model.py"
    model.write_text(SINE_MODEL)
    model.chmod(0)
    process = run("record", model)
    assert process.returncode == 2 and "cannot be read: Permission denied" in process.stderr
    model.chmod(0o600)
    locked = pathlib.Path(tmp_path / "locked")
    locked.mkdir(mode=0o500)
    process = run("record", model, "--out", locked / "out")
    assert process.returncode == 3 and "Permission denied" in process.stderr
