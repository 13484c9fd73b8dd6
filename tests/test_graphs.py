"""The cases of graph_cases.py without a GPU: what a graph is, and what launches it holds, is kept by fake_gpu.py."""

import pytest
import torch

import graph_cases
from fake_gpu import Gpu, Kernel
from graph_cases import *  # noqa: F403
from test_host_path import folder  # noqa: F401
from truth_calls import load


class Case:
    real, rows = False, 1

    def __init__(self, folder, monkeypatch):
        self.module, self.gpu = load(folder / "optimized.py", "graphs_export"), Gpu(monkeypatch)
        self.gpu.take(self.module, monkeypatch)
        self.kernel = Kernel(self.gpu, self.module.scaled, scaled)
        for name, launch in vars(self.module).items():
            if name.startswith("_kw_launch_"):
                launch.kernel = self.kernel
        self.export, self.reference = self.module.ModelNew(), self.module.Model()
        self.reference.load_state_dict(self.export.state_dict())
        self.x, self.limit_of_graphs = self.random(8, 16), 20 * self.gpu.bytes_of_a_graph

    captures = property(lambda self: self.gpu.captures)
    replays = property(lambda self: self.gpu.replays)

    def random(self, *shape):
        return torch.randn(*shape)

    def forget(self):
        """What the kernel was given."""
        self.kernel.asked.clear()
        self.kernel.ran.clear()

    def taken(self):
        return self.gpu.taken

    def stream(self):
        return torch.cuda.Stream()

    def streams_waited(self):
        """For each change of the stream, the later one waits for the one before."""
        assert len(self.gpu.waits) >= 40 and all(later != before for later, before in self.gpu.waits)

    def captured_by_the_user(self):
        ran = len(self.kernel.ran)
        with self.gpu.captured_by_the_user():
            graph_cases.check(self)
        assert len(self.kernel.ran) == ran + 12

    def break_captures(self, monkeypatch):
        self.gpu.refuses = "operation not permitted when stream is capturing"


def scaled(x, w, one, y, *_):
    y.copy_(torch.relu(x * w + one))


@pytest.fixture
def case(folder, monkeypatch):  # noqa: F811
    return Case(folder, monkeypatch)


def test_captures_share_a_stream(case, monkeypatch):
    """PyTorch keeps freed memory for the stream that it was used on: only there a later graph may have it."""
    monkeypatch.setattr(case.module, "_kw_misfit", lambda tensors, expected: None)
    case.export.graphed()
    for rows in (8, 9, 10):
        graph_cases.called(case, case.random(rows, 16))
    assert len(case.gpu.captured_on) == 3 and len(set(case.gpu.captured_on)) == 1
    assert case.gpu.alive == 3 and case.gpu.pool is None
    case.export = None
    assert case.gpu.alive == case.gpu.taken == 0, "graphs go with the model"
