"""`kernelwright eval`: what the teacher writes by itself for several models, judged."""

import json
import pathlib
import shutil
import time

import pytest

from command import ROOT, run
from test_local import write_model as local_model

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


def read(process):
    """The models' lines and the summary, which is the last one."""
    *lines, last = [json.loads(line) for line in process.stdout.splitlines()]
    assert set(last) == {"summary", "executors"} and not any("summary" in line for line in lines)
    assert last["executors"]["processes"] == 1
    return lines, last["summary"]


@pytest.fixture(scope="module")
def three_models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three")
    for name, (body, inputs) in MODELS.items():
        write_model(folder / (name + ".py"), body, inputs)
    return folder


@pytest.fixture(scope="module")
def results(three_models, tmp_path_factory):
    out = tmp_path_factory.mktemp("written")
    process = run("eval", three_models, "--backend", "cpu", "--coverage", "pure", "--samples", "2",
                  "--trials", "1", "--json", "--out", out)
    assert process.returncode == 0, process.stderr
    lines, summary = read(process)
    found = {line["model"].rsplit("/", 1)[1][:-3]: line for line in lines}
    return found, out, process.stderr, summary


def test_outcomes(results):
    found, _, summary, _ = results
    assert {name: r["outcome"] for name, r in found.items()} == {
        "pointwise": "verified", "sorted": "refused", "unusable": "unusable"}
    assert "3 models, 1 refused, 1 unusable, 1 verified" in summary


def test_samples_say_what_they_are_and_are_kept(results):
    found, out, _, _ = results
    samples = found["pointwise"]["samples"]
    assert samples and all(s["family"] and s["plan"] for s in samples)
    assert sorted(p.name for p in out.iterdir()) == sorted(
        ["lines.jsonl", *(name + ".reference.py" for name in MODELS), *(
            "pointwise.%d.%s" % (k, end) for k in range(len(samples))
            for end in ("py", "fragment.py"))])
    assert "@triton.jit" in (out / "pointwise.0.py").read_text()
    assert "class ModelNew(torch.nn.Module)" in (out / "pointwise.0.fragment.py").read_text()


def test_the_summary_is_of_tasks(results):
    """A model file at fault is no task; what was refused is one that is not solved."""
    found, _, _, summary = results
    samples = [s["outcome"] == "accepted" for s in found["pointwise"]["samples"]]
    assert len(samples) == 2
    assert (summary["tasks"], summary["refused"], summary["not_judged"]) == (2, 1, 0)
    assert (summary["answers"], summary["correct"]) == (2, sum(samples))
    assert summary["solved"]["value"] == 0.5 and summary["judged"] == "all"
    assert 0.09 < summary["solved"]["lower"] < 0.1 and 0.9 < summary["solved"]["upper"] < 0.91
    assert summary["pass_at"]["1"]["value"] == sum(samples) / 2 / 2
    assert summary["pass_at"]["2"]["value"] == 0.5
    assert summary["eager"] is None and summary["compile"] is None  # nothing is timed on the CPU


def test_reasons(results):
    found, _, _, _ = results
    assert "sort" in found["sorted"]["reason"] and not found["sorted"]["samples"]
    assert "unusable.py:6" in found["unusable"]["reason"]


def test_judging_can_end_with_the_first_that_is_accepted(tmp_path):
    model = tmp_path / "pointwise.py"
    write_model(model, *MODELS["pointwise"])
    flags = ("--backend", "cpu", "--samples", "3", "--trials", "1", "--seed", "5", "--json")
    (all_of_them,), _ = read(run("eval", model, *flags))
    (some,), summary = read(run("eval", model, *flags, "--until-accepted"))
    outcomes = [sample["outcome"] for sample in all_of_them["samples"]]
    first = outcomes.index("accepted")
    assert len(outcomes) > first + 1
    assert [(s["plan"], s["outcome"]) for s in some["samples"]] == [
        (s["plan"], s["outcome"]) for s in all_of_them["samples"][:first + 1]]
    assert some["outcome"] == "verified"
    assert summary["pass_at"] is None and summary["judged"] == "until accepted"
    assert summary["solved"]["value"] == 1
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
    assert "  verified        100 %" in process.stdout and "  pass@1          100 %" in process.stdout
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
    results, _ = read(judged)
    assert [r["outcome"] for r in results] == ["verified"] * 8, [r for r in results if r["outcome"] != "verified"]
    assert any(r["samples"][-1]["schedule"]["parts"] > 2 for r in results)


def test_what_is_equal_is_judged_once(results, tmp_path):
    """By its text, or by its program; what becomes of it stands with every sample."""
    _, out, _, _ = results
    write_model(tmp_path / "pointwise.py", *MODELS["pointwise"])
    right = (out / "pointwise.0.fragment.py").read_text()
    wrong = right.replace("+ 1.0", "+ 2.0")
    assert wrong != right
    answers = tmp_path / "answers"
    answers.mkdir()
    for k, text in enumerate([wrong, right, wrong, right, "# The same.\n" + right]):
        (answers / f"pointwise.{k}.fragment.py").write_text(text)
    process = run("eval", tmp_path / "pointwise.py", "--backend", "cpu", "--samples", "5", "--trials", "1",
                  "--json", "--policy", "replay", "--answers", answers, "--out", tmp_path / "placed")
    line, last = [json.loads(text) for text in process.stdout.splitlines()]
    assert [s["outcome"] for s in line["samples"]] == ["rejected", "accepted"] * 2 + ["accepted"]
    same = [s["same_as"] for s in line["samples"]]
    assert (same[0], same[2]) == (None, 0)
    judged = [k for k in (1, 3, 4) if same[k] is None]
    assert len(judged) == 1 and all(same[k] in (None, *judged) for k in (1, 3, 4)), same
    assert last["summary"]["answers"] == 5 and last["summary"]["correct"] == 3
    placed = sorted(p.name for p in (tmp_path / "placed").glob("pointwise.[0-9].py"))
    assert placed == ["pointwise.1.py", "pointwise.3.py", "pointwise.4.py"]


UNTIMED = ("judge_seconds", "phases", "label", "files")


def by_label(process):
    """Lines of models and summaries, without what differs from run to run, and all in one order."""
    assert process.returncode == 0, process.stderr
    lines, summaries = {}, {}
    for row in map(json.loads, process.stdout.splitlines()):
        label = row.get("label", "alone")
        if "summary" in row:
            costs = {k: v for k, v in row.get("costs", {}).items() if "second" not in k}
            summaries[label] = (row["summary"], row.get("policy"), costs)
        else:
            assert label not in summaries  # the last of a policy
            lines.setdefault(label, []).append({k: v for k, v in row.items() if k not in UNTIMED})
    for rows in lines.values():
        rows.sort(key=lambda row: row["model"])
    return lines, summaries


def files_of(folder):
    return {path.name: path.read_text() for path in folder.glob("*.py")}


def test_policies_side_by_side_are_what_each_is_alone(three_models, tmp_path):
    """Answers, outcomes, what is kept, summaries and costs: of models that write kernels and that do not."""
    tiny, embedded = str(local_model(tmp_path / "tiny")), str(ROOT / "models" / "embedded")
    common = ("eval", three_models, "--backend", "cpu", "--trials", "1", "--samples", "2", "--seed", "5", "--json",
              "--coverage", "pure", "--max-tokens", "900", "--temperature", "0.5", "--model-device", "cpu",
              "--concurrency", "1")
    alone = {"teacher": (), tiny: ("--policy", "local", "--model", tiny),
             embedded: ("--policy", "local", "--model", embedded)}
    # @2 is what --samples says too.
    together = run(*common, "--policy", "local", "--model", embedded, "--beside", "teacher@2", "--beside", tiny,
                   "--out", tmp_path / "together")
    lines, summaries = by_label(together)
    assert list(summaries) == [embedded, "teacher", tiny]  # in the order given
    for place, label in enumerate(summaries):
        own = run(*common, *alone[label], "--out", tmp_path / str(place))
        assert "label" not in own.stdout
        expected, summary = by_label(own)
        assert lines[label] == expected["alone"] and summaries[label] == summary["alone"]
        assert files_of(tmp_path / "together" / str(place)) == files_of(tmp_path / str(place))
        assert "%s: 3 models, " % label in together.stderr
    verified = [line for line in lines["teacher"] + lines[embedded] if line["outcome"] == "verified"]
    assert len(verified) == 2 and summaries[tiny][0]["correct"] == 0


@pytest.mark.parametrize("beside", [(), ("--beside", ROOT / "models" / "embedded")])
def test_a_run_that_was_ended_goes_on(three_models, tmp_path, beside):
    """From whole lines of all policies: what is torn, half there or was not judged is judged again."""
    lines = tmp_path / "lines.jsonl"
    common = ("eval", three_models, "--backend", "cpu", "--coverage", "pure", "--samples", "2", "--trials", "1",
              "--seed", "5", "--max-tokens", "900", "--model-device", "cpu", "--json", "--lines", lines)
    whole = run(*common, *beside)
    rows, summaries = by_label(whole)
    summaries = {label: summary for label, (summary, *_) in summaries.items()}  # costs are a run's own
    policies = len(rows)
    first, *kept = lines.read_text().splitlines()
    assert len(kept) == 3 * policies and whole.stdout.splitlines()[:-policies] == kept
    assert json.loads(first)["eval"]["flags"]["--samples"] == ["2"]
    again = run(*common, *beside)
    again_rows, again_summaries = by_label(again)
    assert not again_rows and {label: summary for label, (summary, *_) in again_summaries.items()} == summaries
    assert "3 of 3 models were judged before" in again.stderr

    def of(name):
        return [line for line in kept if json.loads(line)["model"].endswith(name + ".py")]

    not_judged = [json.dumps({**json.loads(line), "outcome": "not judged", "samples": []}) for line in of("pointwise")]
    torn = of("unusable")[-1][:40]
    lines.write_text("\n".join([first, *of("sorted"), *not_judged, *of("unusable")[:-1], torn]))
    left = run(*common, *beside)
    assert "1 of 3 models were judged before" in left.stderr and "3 models, " in left.stderr
    again_rows, again_summaries = by_label(left)
    for label, found in again_rows.items():
        assert {row["model"] for row in found} == {row["model"] for row in rows[label]} - {
            json.loads(line)["model"] for line in of("sorted")}
    assert {label: summary for label, (summary, *_) in again_summaries.items()} == summaries


def test_shards_become_the_run_that_was_not_parted(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    for name, operator in (("a", "relu"), ("b", "sigmoid"), ("c", "tanh"), ("d", "exp")):
        write_model(models / (name + ".py"), "return torch.%s(a0) + a1" % operator, "torch.randn(8, 40), torch.randn(40)")
    write_model(models / "e.py", *MODELS["sorted"])
    common = ("eval", models, "--backend", "cpu", "--coverage", "pure", "--trials", "1", "--json", "--seed", "5")
    rows, whole = read(run(*common))
    assert [row["outcome"] for row in rows].count("verified") == 4
    files = [tmp_path / ("%d.jsonl" % part) for part in (1, 2)]
    merge = [word for file in files for word in ("--merge", file)]
    parts = []
    for part, file in enumerate(files, 1):
        process = run(*common, "--lines", file, "--shard", "%d/2" % part)
        found, _ = read(process)
        assert ("3 models, ", "2 models, ")[part - 1] in process.stderr
        parts.append(found)
    assert [sorted(pathlib.Path(row["model"]).stem for row in found) for found in parts] == [["a", "c", "e"], ["b", "d"]]
    untimed = [{k: v for k, v in row.items() if k not in UNTIMED} for row in rows]
    merged = [{k: v for k, v in row.items() if k not in UNTIMED} for found in parts for row in found]
    assert sorted(untimed, key=str) == sorted(merged, key=str)

    together = run(*common, "--lines", tmp_path / "all.jsonl", *merge)
    again, summary = read(together)
    assert not again and summary == whole and "5 of 5 models were judged before" in together.stderr
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 6

    # A shard that was ended, in the middle of a line: its models are judged, and count at their places.
    kept = files[1].read_text()
    first, *lines = kept.splitlines()
    files[1].write_text("\n".join([first, lines[0], lines[1][:30]]))
    left, summary = read(run(*common, "--lines", tmp_path / "left.jsonl", *merge))
    assert len(left) == 1 and summary == whole

    # What a shard could not judge counts as it stands, as in one run.
    unjudged = {**json.loads(lines[0]), "outcome": "not judged", "samples": []}
    files[1].write_text("\n".join([first, json.dumps(unjudged), lines[1], ""]))
    again, summary = read(run(*common, "--lines", tmp_path / "unjudged.jsonl", *merge))
    assert not again and summary["correct"] == whole["correct"] - 1

    for shard in ("3/2", "", "2/-1", "-1/2", "1/2x"):
        process = run(*common, "--lines", tmp_path / "none.jsonl", "--shard", shard)
        assert process.returncode == 2 and "--shard %s: expected I/N" % shard in process.stderr
    assert not (tmp_path / "none.jsonl").exists()
    other = run(*common[:-1], "6", "--lines", tmp_path / "other.jsonl", *merge)
    assert other.returncode == 2 and "--merge %s: is of another run" % files[0] in other.stderr
    assert not (tmp_path / "other.jsonl").exists()
    folder = run(*common, "--lines", tmp_path / "more.jsonl", "--merge", models)
    assert folder.returncode == 2 and "cannot be read" in folder.stderr
    assert run(*common, *merge).returncode == run(*common, "--shard", "1/2").returncode == 2  # without --lines


def test_lines_of_another_run_are_not_gone_on_with(three_models, tmp_path):
    lines = tmp_path / "lines.jsonl"
    common = ("eval", three_models, "--backend", "cpu", "--trials", "1", "--seed", "5", "--lines", lines)
    assert run(*common).returncode == 0
    kept = lines.read_text()
    for flags, word in ((("--samples", "3"), "another run"), (("--no-time",), "another run"),
                        (("--coverage", "pure"), "another run"), (("--trial-timeout", "9"), "another run")):
        process = run(*common, *flags)
        assert process.returncode == 2 and word in process.stderr, process.stderr
    assert lines.read_text() == kept
    process = run("eval", str(three_models) + "/", *common[2:])  # another way to write the same folder
    assert process.returncode == 0 and "3 of 3 models were judged before" in process.stderr
    # Another text of the same name is another model.
    changed = tmp_path / "three"
    shutil.copytree(three_models, changed)
    own = ("eval", changed, *common[2:-1], tmp_path / "own.jsonl")
    assert run(*own).returncode == 0
    (changed / "sorted.py").write_text((changed / "sorted.py").read_text() + "\n")
    process = run(*own)
    assert process.returncode == 2 and "another run" in process.stderr
    # So is another policy of the same folder.
    answers = tmp_path / "answers"
    answers.mkdir()
    written = answers / "pointwise.0.fragment.py"
    written.write_text("class ModelNew: pass\n")
    replay = (*own[:-1], tmp_path / "replay.jsonl", "--policy", "replay", "--answers", answers)
    assert run(*replay).returncode == 0
    written.write_text("class ModelNew: pass  # changed\n")
    process = run(*replay)
    assert process.returncode == 2 and "another run" in process.stderr
    first, *rest = kept.splitlines()
    other = json.loads(first)
    other["eval"]["versions"]["torch"] = "1.0"
    lines.write_text("\n".join([json.dumps(other), *rest, ""]))
    process = run(*common)
    assert process.returncode == 2 and "another run, which differs in versions" in process.stderr
    lines.write_text(kept[:5])  # torn in its first line
    assert run(*common).returncode == 0 and len(lines.read_text().splitlines()) == 4
    lines.write_text("what is this\n")
    process = run(*common)
    assert process.returncode == 2 and "no file of eval's lines" in process.stderr
    assert lines.read_text() == "what is this\n"


def test_policies_share_what_is_equal(tmp_path):
    """What was written before, replayed beside who wrote it, costs no trial; people see whose it is."""
    model = tmp_path / "pointwise.py"
    write_model(model, *MODELS["pointwise"])
    common = ("eval", model, "--backend", "cpu", "--trials", "1", "--samples", "2", "--coverage", "pure", "--seed", "5")
    assert run(*common, "--out", tmp_path / "written").returncode == 0
    replay = ("--policy", "replay", "--answers", tmp_path / "written", "--beside", "teacher")
    process = run(*common, *replay, "--json")
    rows = [json.loads(line) for line in process.stdout.splitlines()]
    assert [row["label"] for row in rows[2:]] == ["replay", "teacher"]
    replayed, taught = sorted(rows[:2], key=lambda row: row["label"])
    assert [s["outcome"] for s in replayed["samples"]] == [s["outcome"] for s in taught["samples"]] == ["accepted"] * 2
    assert replayed["judge_seconds"] > 0 and taught["judge_seconds"] == 0
    assert 0 < replayed["phases"]["reference: oracle"] < sum(replayed["phases"].values()) <= replayed["judge_seconds"]
    assert taught["phases"] == {}
    assert all(s["same_as"] is None for s in replayed["samples"] + taught["samples"])
    shown = run(*common, *replay).stdout
    for label in ("replay", "teacher"):
        assert "%s  verified  " % label in shown and "%s: 1 task (" % label in shown


def test_each_beside_may_have_its_own_number_of_samples(three_models):
    lines, summaries = by_label(run("eval", three_models, "--backend", "cpu", "--trials", "1", "--seed", "5", "--json",
                                    "--policy", "local", "--model", ROOT / "models" / "embedded", "--samples", "1",
                                    "--model-device", "cpu", "--max-tokens", "900", "--beside", "teacher@3"))
    numbers = {label: {len(line["samples"]) for line in own if line["samples"]} for label, own in lines.items()}
    assert max(numbers["teacher"]) == 3 and numbers[str(ROOT / "models" / "embedded")] == {1}
    assert list(summaries["teacher"][0]["pass_at"]) == ["1", "3"]


def test_mistakes_with_several_policies(three_models, tmp_path):
    def refused(*flags):
        process = run("eval", three_models, "--backend", "cpu", *flags)
        assert process.returncode == 2, process.stderr
        return process.stderr

    for flags in (("--search", "5s"), ("--side-by-side",), ("--until-accepted",)):
        told = refused("--beside", "teacher", *flags)
        assert "excludes" in told and "--beside" in told and flags[0] in told
    assert "--beside teacher: is one of the policies already" in refused("--beside", "teacher")
    assert "has no config.json" in refused("--beside", tmp_path)
    for number in ("0", "1001", "99999999999"):
        assert "samples are from 1 to 1000" in refused("--beside", "teacher@" + number)
    assert "expected a policy before the @" in refused("--beside", "@3")
    for what in ("openai", "local", "teacher@x", "nowhere"):
        assert "--beside %s: expected teacher, inductor or the folder" % what in refused("--beside", what)


def test_what_hangs_is_rejected_in_its_own_time(results, tmp_path):
    """What the others are judged by stays as it is."""
    _, out, _, _ = results
    write_model(tmp_path / "pointwise.py", *MODELS["pointwise"])
    right = (out / "pointwise.0.fragment.py").read_text()
    answers = tmp_path / "answers"
    answers.mkdir()
    (answers / "pointwise.0.fragment.py").write_text("while True:\n    pass\n" + right)
    (answers / "pointwise.1.fragment.py").write_text(right)
    begun = time.monotonic()
    process = run("eval", tmp_path / "pointwise.py", "--backend", "cpu", "--samples", "2", "--trials", "1", "--json",
                  "--policy", "replay", "--answers", answers, "--build-timeout", "5", "--interval-width", "0.03")
    assert time.monotonic() - begun < 60, "as long as recording may take without the flag"
    samples = json.loads(process.stdout.splitlines()[0])["samples"]
    assert [s["outcome"] for s in samples] == ["rejected", "accepted"], samples
    assert samples[0]["rejected_at"] in ("load", "record"), samples[0]


def test_a_search_writes_what_no_single_fragment_can_and_says_what_is_left(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    names = ["a%d" % i for i in range(4)]
    for name in names:
        write_model(models / (name + ".py"), "return (torch.relu(a0) * a1).softmax(-1)", MODELS["sorted"][1])
    write_model(models / "b_sorted.py", *MODELS["sorted"])
    write_model(models / "c_unusable.py", *MODELS["unusable"])
    common = ["--backend", "cpu", "--trials", "1", "--coverage", "pure"]
    process = run("eval", models, *common, "--search", "30s", "--json", "--out", tmp_path / "out")
    assert process.returncode == 0, process.stderr
    lines, summary = read(process)
    lines.sort(key=lambda line: line["model"])
    assert [line["model"].rsplit("/", 1)[1] for line in lines] == [
        name + ".py" for name in [*names, "b_sorted", "c_unusable"]]
    assert [line["outcome"] for line in lines] == ["verified"] * 4 + ["rejected", "unusable"]
    (sample,) = lines[4]["samples"]
    assert sample["rejected_at"] == "coverage"
    assert sample["reason"] == "no right kernels were found for sort"
    assert summary["pass_at"]["1"]["value"] == 0.8
    process = run("verify", models / "a0.py", tmp_path / "out" / "a0.0.py", *common)
    assert process.returncode == 0, process.stdout + process.stderr
    # A search has no samples to leave out.
    for flag in ("--until-accepted", "--side-by-side", "--baseline"):
        assert run("eval", models, "--search", "5s", flag).returncode == 2
    codes = {line["model"].rsplit("/", 1)[1]: line["fault"] for line in lines if line["fault"]}
    assert list(codes) == ["c_unusable.py"] and summary["unusable"] == {codes["c_unusable.py"]: 1} != {"other": 1}
    for command in (("collect", tmp_path / "out", "--out", tmp_path / "rows"),
                    ("review", tmp_path / "out", "--review-url", "http://localhost:1/v1", "--review-model", "m")):
        process = run(*command)
        assert process.returncode == 2 and "is a run of --search" in process.stderr
    assert "--search soon: expected a time" in run("eval", models, *common, "--search", "soon").stderr
