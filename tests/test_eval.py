"""`kernelwright eval`: what the teacher writes by itself for several models, judged."""

import json

import pytest

from command import run

MODELS = {
    "pointwise": ("return torch.relu(a0) * a1 + 1.0", "torch.randn(40, 30), torch.randn(30)"),
    # Orders its elements: no kernel family does.
    "sorted": ("return torch.sort(a0).values * a1", "torch.randn(9, 30), torch.randn(30)"),
    # Reads a value on the host.
    "unusable": ("return a0 * a1.sum().item()", "torch.randn(9, 30), torch.randn(30)"),
}


def write_model(path, body, inputs):
    path.write_text(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, a0, a1):\n"
        "        %s\n\n\ndef get_inputs():\n    return [%s]\n\n\n"
        "def get_init_inputs():\n    return []\n" % (body, inputs))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    for name, (body, inputs) in MODELS.items():
        write_model(folder / (name + ".py"), body, inputs)
    out = tmp_path_factory.mktemp("written")
    process = run("eval", folder, "--backend", "cpu", "--coverage", "pure", "--samples", "2",
                  "--trials", "1", "--json", "--out", out)
    assert process.returncode == 0, process.stderr
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    return {line["model"].rsplit("/", 1)[1][:-3]: line for line in lines}, out, process.stderr


def test_outcomes(results):
    found, _, summary = results
    assert {name: r["outcome"] for name, r in found.items()} == {
        "pointwise": "verified", "sorted": "refused", "unusable": "unusable"}
    assert "3 models, 1 refused, 1 unusable, 1 verified" in summary


def test_samples_say_what_they_are_and_are_kept(results):
    found, out, _ = results
    samples = found["pointwise"]["samples"]
    assert samples and all(s["family"] and s["plan"] for s in samples)
    assert sorted(p.name for p in out.iterdir()) == sorted(
        "pointwise.%d.%s" % (k, end) for k in range(len(samples)) for end in ("py", "fragment.py"))
    assert "@triton.jit" in (out / "pointwise.0.py").read_text()
    assert "class ModelNew(torch.nn.Module)" in (out / "pointwise.0.fragment.py").read_text()


def test_reasons(results):
    found, _, _ = results
    assert "sort" in found["sorted"]["reason"] and not found["sorted"]["samples"]
    assert "unusable.py:6" in found["unusable"]["reason"]


def test_judging_can_end_with_the_first_that_is_accepted(tmp_path):
    model = tmp_path / "pointwise.py"
    write_model(model, *MODELS["pointwise"])
    flags = ("--backend", "cpu", "--samples", "3", "--trials", "1", "--seed", "5", "--json")
    all_of_them = json.loads(run("eval", model, *flags).stdout)
    some = json.loads(run("eval", model, *flags, "--until-accepted").stdout)
    outcomes = [sample["outcome"] for sample in all_of_them["samples"]]
    first = outcomes.index("accepted")
    assert len(outcomes) > first + 1
    assert [(s["plan"], s["outcome"]) for s in some["samples"]] == [
        (s["plan"], s["outcome"]) for s in all_of_them["samples"][:first + 1]]
    assert some["outcome"] == "verified"
    assert run("eval", model, "--until-accepted", "--side-by-side").returncode == 2


def test_what_is_written_stands_for_the_model(tmp_path):
    """Whatever the order in which the program reads its arguments, and whichever it leaves alone."""
    bodies = {"order": "return a1 - self.w * a0", "unused": "return torch.tanh(a1) * 2"}
    models = tmp_path / "models"
    models.mkdir()
    for name, body in bodies.items():
        (models / (name + ".py")).write_text(
            "import torch\n\n\nclass Model(torch.nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.w = torch.nn.Parameter(torch.randn(64))\n\n"
            "    def forward(self, a0, a1):\n        %s\n\n\ndef get_inputs():\n"
            "    return [torch.randn(32, 64), torch.randn(32, 64)]\n\n\n"
            "def get_init_inputs():\n    return []\n" % body)
    common = ["--backend", "cpu", "--trials", "1"]
    process = run("eval", models, *common, "--out", tmp_path / "out")
    assert process.returncode == 0, process.stderr
    for name in bodies:
        process = run("verify", models / (name + ".py"), tmp_path / "out" / (name + ".0.py"), *common)
        assert process.returncode == 0, process.stdout + process.stderr


def test_nothing_to_do(tmp_path):
    process = run("eval", tmp_path)
    assert process.returncode == 2 and "no *.py file" in process.stderr


def test_programs_that_are_no_one_fragment_are_written_whole(tmp_path):
    """Whatever the generator draws has steps that are written; none of them takes a whole program."""
    tasks = tmp_path / "tasks.jsonl"
    drawn = run("synth", "--level", "5", "--count", "8", "--seed", "77", "--twin", "2^10:2^14",
                "--backend", "cpu", "--out", tasks)
    assert drawn.returncode == 0, drawn.stderr
    judged = run("eval", tasks, "--twins", "--backend", "cpu", "--coverage", "pure", "--trials", "1",
                 "--samples", "2", "--until-accepted", "--seed", "5", "--json")
    assert judged.returncode == 0, judged.stderr
    results = [json.loads(line) for line in judged.stdout.splitlines()]
    assert [r["outcome"] for r in results] == ["verified"] * 8, [r for r in results if r["outcome"] != "verified"]
    assert any(r["samples"][-1]["schedule"]["parts"] > 2 for r in results)
