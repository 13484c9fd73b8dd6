"""Wall times of calls, in the process that the program measures them in. Without a GPU kernels are interpreted."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from command import DOUBLED_KERNEL, DOUBLED_MODEL, run  # noqa: E402

MEASURE = """
import json, sys
sys.path.insert(0, %r)
import calls
calls.ROUNDS = 2, 3
calls.build(json.loads(sys.argv[1]), "cpu")
"""


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    (folder / "model.py").write_text(DOUBLED_MODEL)
    (folder / "mine.py").write_text(DOUBLED_KERNEL % "2.0")
    done = run("verify", folder / "model.py", folder / "mine.py", "--backend", "cpu", "--no-time", "--trials", "1",
               "--out", folder / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "out/optimized.py").read_text()


def times_of(tmp_path, optimized, **asked):
    request = {"out": str(tmp_path / "calls.json"), "source": DOUBLED_MODEL, "folder": str(tmp_path), "class": "Model",
               "optimized": optimized, "compile": False, "seconds_to_measure": 0.1, **asked}
    done = subprocess.run([sys.executable, "-c", MEASURE % str(ROOT / "worker"), json.dumps(request)], text=True,
                          capture_output=True, env={"TRITON_INTERPRET": "1", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "calls.json").read_text())


def test_eager_and_ours_are_timed(export, tmp_path):
    found = times_of(tmp_path, export)
    assert set(found["times"]) == {"eager", "launches", "called"} and found["called_by"] == "launches"
    assert found["absent"] == {"graph": "calls go by launches"}
    for name, time in found["times"].items():
        assert 0 < time["host"] <= time["latency"] and 0 < time["wall"], name
    assert found["times"]["eager"]["over_eager"] == 1 > found["times"]["called"]["over_eager"], "it is interpreted"


def test_the_original_does_not_count_as_ours(export, tmp_path):
    """Where its guards refuse the call, ModelNew would be timed as the original."""
    other = DOUBLED_MODEL.replace("torch.randn(40, 30)", "torch.randn(41, 30)")
    found = times_of(tmp_path, export.replace("torch.randn(40, 30)", "torch.randn(41, 30)"), source=other)
    assert set(found["times"]) == {"eager"}
    assert "running the original forward" in found["absent"]["called"]


def test_what_raises_has_no_time(export, tmp_path):
    found = times_of(tmp_path, export + "\n\nModelNew.forward = None\n")
    assert set(found["times"]) == {"eager"} and "TypeError" in found["absent"]["launches"]
