"""scripts/fit_schedules.py on measurements that the test makes up, and its tables in use."""

import copy
import json
import math
import random
import sqlite3
import subprocess
import sys

import pytest

from command import ROOT, run

sys.path.insert(0, str(ROOT / "scripts"))
import fit_schedules  # noqa: E402

SCRIPT = str(ROOT / "scripts/fit_schedules.py")


def sample(shape_class, warps, block, milliseconds):
    features = {"kind flat": 1, "warps": math.log2(warps) / 4, "BLOCK": math.log2(block) / 4}
    return {"device_ms": milliseconds, "outcome": "accepted", "in_full": False,
            "schedule": {"family": "pointwise", "class": shape_class, "parts": 1,
                         "name": "flat, BLOCK=%d; warps: %d" % (block, warps),
                         "model_seconds": 1e-3, "features": features}}


def made_up(law, models=8, seed=1):
    """Measurements of a device on which a schedule takes law(warps, block, random) milliseconds."""
    draw = random.Random(seed)
    rows = []
    for i in range(models):
        scale = 2 ** draw.uniform(-4, 4)  # models differ in size, which ranks nothing
        samples = [sample("float32 outer=2^%d" % i, w, b, scale * law(w, b, draw))
                   for w in (1, 2, 4, 8, 16) for b in (256, 1024, 4096)]
        rows.append({"group": "pointwise", "name": "model%d" % i, "samples": samples})
    return {"command": "made up", "environment": {"device": "NVIDIA H200", "torch": "2"},
            "models": rows}


def fit(tmp_path, document):
    (tmp_path / "families.json").write_text(json.dumps(document))
    process = subprocess.run([sys.executable, SCRIPT, str(tmp_path / "families.json"), "--out",
                              str(tmp_path)], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return json.loads((tmp_path / "NVIDIA_H200.json").read_text()), process.stdout


def test_a_law_that_features_hold_is_found(tmp_path):
    # The model (a constant) says nothing; on this device fewer warps and larger blocks are faster.
    table, text = fit(tmp_path, made_up(lambda w, b, d: w ** 0.5 * b ** -0.25 * d.uniform(0.98, 1.02)))
    report = table["fit"]["pointwise"]
    assert report["before"]["regret"] > 1.1 and report["kept"]
    assert report["after"]["regret"] < 1.02 and report["after"]["rank_correlation"] > 0.9
    found = table["correction"]["pointwise"]["coefficients"]
    assert found["warps"] == pytest.approx(0.5 * 4 * math.log(2), rel=0.1)
    assert found["BLOCK"] == pytest.approx(-0.25 * 4 * math.log(2), rel=0.1)
    assert "pointwise" in text


def test_the_fastest_of_each_class_are_kept_in_order(tmp_path):
    document = made_up(lambda w, b, d: 1 + abs(math.log2(w) - 2) + abs(math.log2(b) - 10) / 50)
    table, _ = fit(tmp_path, document)
    assert len(table["measured"]["pointwise"]) == len(document["models"])
    for schedules in table["measured"]["pointwise"].values():
        ratios = [s["ratio"] for s in schedules]
        assert schedules[0] == {"name": "flat, BLOCK=1024; warps: 4", "ratio": 1.0}
        assert ratios == sorted(ratios) and ratios[-1] <= 1.1


def test_noise_is_not_taken_for_a_law(tmp_path):
    kept = 0
    for seed in range(6):
        document = made_up(lambda w, b, d: math.exp(d.gauss(0, 0.5)), seed=seed)
        table, _ = fit(tmp_path, document)
        report = table["fit"]["pointwise"]
        assert ("pointwise" in table["correction"]) == report["kept"]
        assert not report["kept"] or report["after"]["regret"] < report["before"]["regret"]
        # What it ranks by is close to chance on models that were held out.
        kept += report["after"]["rank_correlation"] > 0.5
    assert kept == 0


def test_what_was_not_timed_or_not_right_does_not_count(tmp_path):
    document = made_up(lambda w, b, d: w)
    plain, _ = fit(tmp_path, document)
    for row in document["models"]:
        wrong = copy.deepcopy(row["samples"][0])
        wrong.update(outcome="rejected", device_ms=1e-9)
        untimed = copy.deepcopy(row["samples"][0])
        untimed.update(device_ms=None)
        several = copy.deepcopy(row["samples"][0])
        several["device_ms"] = 1e-9
        several["schedule"]["parts"] = 2
        row["samples"] += [wrong, untimed, several]
    again, _ = fit(tmp_path, document)
    assert again == plain


def test_ranks_of_equal_values_are_equal():
    assert list(fit_schedules.ranks([3, 1, 3, 2])) == [2.5, 0, 2.5, 1]


def test_two_devices_are_refused(tmp_path):
    paths = []
    for device in ("NVIDIA H200", "NVIDIA A100-SXM4-80GB"):
        document = made_up(lambda w, b, d: w)
        document["environment"]["device"] = device
        paths.append(tmp_path / (device + ".json"))
        paths[-1].write_text(json.dumps(document))
    process = subprocess.run([sys.executable, SCRIPT, *map(str, paths)], capture_output=True,
                             text=True)
    assert process.returncode and "several devices" in process.stderr


# ---- In use

MODEL = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x * 0.5, -1) + x


def get_inputs():
    return [torch.randn(6, 100)]


def get_init_inputs():
    return []
"""


def evaluate(folder, *arguments):
    (folder / "model.py").write_text(MODEL)
    process = run("eval", folder / "model.py", "--backend", "cpu", "--samples", "3", "--trials", "1",
                  "--json", *arguments)
    results = [json.loads(line) for line in process.stdout.splitlines()]
    results = [result for result in results if "summary" not in result]
    for result in results:
        del result["judge_seconds"], result["phases"]
    return process, results


def test_a_fitted_table_decides_what_is_tried_first(tmp_path):
    _, (before,) = evaluate(tmp_path, "--schedules", "none")
    names = [s["schedule"]["name"] for s in before["samples"]]
    # Say that the third schedule was the fastest.
    row = {"group": "softmax", "name": "x", "samples": copy.deepcopy(before["samples"])}
    for s, milliseconds in zip(row["samples"], (3.0, 2.9, 1.0)):
        s["device_ms"] = milliseconds
    fit(tmp_path, {"command": "made up", "environment": {"device": "NVIDIA H200"}, "models": [row]})
    _, (after,) = evaluate(tmp_path, "--schedules", tmp_path)
    assert after["samples"][0]["schedule"]["name"] == names[2]
    assert after["outcome"] == "verified"  # judged as ever
    _, (other,) = evaluate(tmp_path, "--schedules", tmp_path, "--device", "a100")
    _, (bare,) = evaluate(tmp_path, "--schedules", "none", "--device", "a100")
    assert other == bare


def test_a_damaged_table_is_one_clear_message(tmp_path):
    (tmp_path / "NVIDIA_H200.json").write_text('{"format": "kernelwright.schedules", "version": 1')
    process, lines = evaluate(tmp_path, "--schedules", tmp_path)
    assert process.returncode == 2 and not lines
    assert "NVIDIA_H200.json" in process.stderr and len(process.stderr.splitlines()) <= 2
    process, lines = evaluate(tmp_path, "--schedules", tmp_path / "nowhere")
    assert process.returncode == 2 and "nowhere" in process.stderr


def fragments_kept(store):
    connection = sqlite3.connect(store)
    (count,), = connection.execute("SELECT count(*) FROM results WHERE key LIKE 'fragment/%'")
    connection.close()
    return count


def test_results_are_not_kept_across_tables(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    store = tmp_path / "store.sqlite"
    kept = []
    document = made_up(lambda w, b, d: w)
    for table in ("none", "none", tmp_path):
        if table != "none":
            fit(tmp_path, document)
        process = run("optimize", tmp_path / "model.py", "--backend", "cpu", "--budget", "20s",
                      "--store", store, "--out", tmp_path / "out", "--schedules", table)
        assert process.returncode == 0, process.stderr
        kept.append(fragments_kept(store))
    assert kept[0] > 0
    assert kept[1] == kept[0]  # answered from the store
    assert kept[2] == 2 * kept[0]
