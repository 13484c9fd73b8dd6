"""The script that records the models of libraries, with a library that is made here."""

import importlib.util
import json
import subprocess
import sys

from command import ROOT, binary

TIMM = '''
import torch
__version__ = "0.0"

def create_model(name, num_classes):
    torch.arange(3, device="cuda:1" if name == "dla34" else "cpu")
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 64 * 64, num_classes))
'''


def test_rows_of_models_of_a_library(tmp_path):
    (tmp_path / "timm").mkdir()
    (tmp_path / "timm" / "__init__.py").write_text(TIMM)
    out = tmp_path / "out.jsonl"
    kept = {"library": "torchvision", "model": "alexnet", "steps": 1}
    out.write_text(json.dumps(kept) + "\n")
    script = ROOT / "bench" / "library_models.py"
    process = subprocess.run(
        [sys.executable, script, binary(), "--packages", tmp_path, "--out", out, "--only",
         "resnet18,dla34,BertModel"], capture_output=True, text=True, timeout=300)
    assert process.returncode == 1, process.stdout + process.stderr
    rows = {row["library"] + "." + row["model"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert rows["torchvision.alexnet"] == kept
    assert rows["timm.resnet18"]["steps"] == 2 and rows["timm.resnet18"]["version"] == "0.0"
    assert rows["timm.dla34"]["stage"] == "record" and "a second device" in rows["timm.dla34"]["reason"]
    if importlib.util.find_spec("transformers") is None:
        assert "transformers: left out" in process.stdout
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("model_")] == []
