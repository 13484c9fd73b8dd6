"""bench/pairs.py: pieces of a check of pairs on several GPUs, added up."""

import json
import os
import subprocess
import sys

import pytest

from command import ROOT

# Judges: each program has one right pair, but for multiples of ten, whose pair is wrong.
TOOL = """#!%s
import json, os, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
first, count = int(words["--first"]), int(words["--count"])
open(%r, "a").write("%%s %%d %%d\\n" %% (os.environ.get("CUDA_VISIBLE_DEVICES"), first, count))
if first == int(os.environ.get("FAILS_AT", -1)):
    sys.exit("no such device")
wrong = [i for i in range(first, first + count) if i %% 10 == 0]
json.dump({"right": count - len(wrong), "wrong": len(wrong), "not_judged": 1, "unfair": 0, "skipped": 0,
           "why_not_judged": {"hung": 1}, "failures": [{"program": i} for i in wrong]}, open(words["--report"], "w"))
sys.exit(1 if wrong else 0)
"""


@pytest.fixture
def check(tmp_path):
    tool, calls, out = tmp_path / "train_pairs", tmp_path / "calls", tmp_path / "deep" / "out.json"
    tool.write_text(TOOL % (sys.executable, str(calls)))
    tool.chmod(0o755)

    def run(*flags, **env):
        process = subprocess.run([sys.executable, ROOT / "bench/pairs.py", tool, "--out", out, *flags, "--", "--levels", "1,2"],
                                 capture_output=True, text=True, timeout=60, env={**os.environ, **env})
        pieces = sorted(line.split() for line in calls.read_text().splitlines()) if calls.exists() else []
        return process, json.loads(out.read_text()) if out.exists() else None, pieces

    return run


def test_pieces_are_added_up_on_all_gpus(check):
    process, found, pieces = check("--gpus", "2", "--programs", "25", "--piece", "10", "--commit", "abc")
    assert process.returncode == 1, process.stderr  # some are wrong
    assert (found["programs"], found["right"], found["wrong"], found["not_judged"]) == (25, 22, 3, 3)
    assert sorted(f["program"] for f in found["failures"]) == [0, 10, 20]
    assert found["why_not_judged"] == {"hung": 3}
    assert (found["command"], found["commit"], found["gpus"]) == ("train_pairs --levels 1,2", "abc", 2)
    assert sorted((int(first), int(count)) for _, first, count in pieces) == [(0, 10), (10, 10), (20, 5)]
    assert {gpu for gpu, _, _ in pieces} <= {"0", "1"}


def test_the_same_command_goes_on(check):
    flags = ("--programs", "30", "--piece", "10")
    process, found, _ = check(*flags, FAILS_AT="20")
    assert process.returncode == 1 and found["pieces"] == [0, 10]
    process, found, pieces = check(*flags)
    assert (found["programs"], found["right"], found["wrong"]) == (30, 27, 3), process.stderr
    assert len(pieces) == 4  # each once, but for the one that failed
    process, _, _ = check("--programs", "30", "--piece", "15")
    assert process.returncode == 1 and "is of another command" in process.stderr


def test_when_the_time_is_over_what_was_judged_counts(check):
    process, found, pieces = check("--minutes", "0")
    assert process.returncode == 4 and not pieces and found is None, process.stderr
    assert "the time is over" in process.stdout


def test_a_piece_that_could_not_be_judged_ends_it(check):
    process, found, _ = check("--programs", "30", "--piece", "10", FAILS_AT="10")
    assert process.returncode == 1 and "programs from 10: no such device" in process.stderr
    assert found["programs"] == 10  # what was judged before stands
