"""Models of many shapes through the whole command line: recorded, searched, exported and recorded
again as the same program."""

import json

import pytest

from command import run

HEAD = """
import collections
import dataclasses
import torch
import torch.nn as nn

def get_inputs():
    return [torch.randn(16, 32)]

def get_init_inputs():
    return []
"""

# what -> (model, words that optimized.py must hold)
MODELS = {
    "objects as results": (HEAD + """
Pair = collections.namedtuple("Pair", "first second")

@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    pair: Pair
    loss: object = None

class Model(nn.Module):
    def forward(self, x):
        y = torch.tanh(x) * 2.0 + x
        return Output(y, Pair(torch.relu(y - x), 3))
""", ["return Output(logits=", "pair=Pair(first=", "second=3", "loss=None"]),
    "parameters in containers": (HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.shifts = [nn.Parameter(torch.randn(32)), nn.Parameter(torch.randn(32))]
        self.table = {"scale": torch.rand(32)}
        self.layers = [nn.LayerNorm(32)]

    def forward(self, x):
        x = torch.sin(x + self.shifts[0]) * self.table["scale"] + self.shifts[1]
        return self.layers[0](x)
""", ["self.shifts[0]", 'self.table["scale"]', "self.layers[0].weight"]),
    "buffers that change": (HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.utils.parametrizations.spectral_norm(nn.Linear(32, 32))

    def forward(self, x):
        y = self.fc(x)
        return torch.sigmoid(y) * y + torch.tanh(y)
""", ["parametrizations"]),
}


@pytest.mark.parametrize("what", MODELS)
def test_optimized_and_recorded_as_the_same(what, tmp_path):
    text, words = MODELS[what]
    (tmp_path / "model.py").write_text(text)
    process = run("optimize", tmp_path / "model.py", "--backend", "cpu", "--out", tmp_path / "out",
                  "--store", tmp_path / "store.sqlite", "--json")
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["outcome"] == "improved", process.stdout
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert verdict["outcome"] == "accepted"
    optimized = (tmp_path / "out" / "optimized.py").read_text()[len(text):]
    for word in words:
        assert word in optimized
