"""torch.compile's packages on the CPU: built by the real server, loaded here, compared with eager.
Needs a C++ compiler and most of a minute: Inductor compiles C++ for each."""

import os
from types import SimpleNamespace

import pytest
import torch

from compiling import CompileServer

LINEAR = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(24, 16)

    def forward(self, x, scale, y):
        return torch.tanh(self.linear(x)) * scale - y

def get_inputs():
    return [torch.randn(4, 24), 0.5, torch.randn(4, 16)]
"""

TIED = """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.a = nn.Linear(size, size, bias=False)
        self.b = nn.Linear(size, size, bias=False)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))

def get_inputs():
    return [torch.randn(8, 32)]

def get_init_inputs():
    return [32]
"""


def packages(server, folder, requests):
    return server.ask([{"task": "package", "out": str(folder / f"{i}.pt2"), "folder": str(folder),
                        "class": "Model", "state": [], "inputs": [], "max_autotune": False, **request}
                       for i, request in enumerate(requests)])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    server = CompileServer(2)
    errors = packages(server, folder, [
        {"source": LINEAR, "state": [["linear.weight"], ["linear.bias"]]},
        {"source": "raise ValueError('bad day')"},
        # y, x, bias, weight
        {"source": LINEAR, "state": [["linear.weight"], ["linear.bias"]], "inputs": [3, 2, 1, 0]},
        {"source": "import threading; threading.Event().wait()", "seconds": 0.5},
        {"source": TIED, "class": "Net", "state": [["a.weight", "b.weight"]]},
        {"source": TIED, "class": "Net", "state": [["c.weight"]]}])
    assert server.close() == 0
    return SimpleNamespace(folder=folder, errors=errors)


def run(built, i, *tensors):
    assert built.errors[i] is None
    return torch._inductor.aoti_load_package(str(built.folder / f"{i}.pt2"))(*tensors)


def test_a_package_gives_eagers_result(built):
    x, y = torch.randn(4, 24), torch.randn(4, 16)
    weight, bias = torch.randn(16, 24), torch.randn(16)
    expected = torch.tanh(x @ weight.T + bias) * 0.5 - y
    torch.testing.assert_close(run(built, 0, weight, bias, x, y), expected)
    torch.testing.assert_close(run(built, 2, y, x, bias, weight), expected)


def test_tied_parameters_are_one_argument(built):
    x, weight = torch.randn(8, 32), torch.randn(32, 32)
    torch.testing.assert_close(run(built, 4, weight, x), torch.relu(x @ weight.T) @ weight.T)


def test_what_fails_says_why_and_takes_nothing_with_it(built):
    assert built.errors[1] == "exited with 1; ValueError: bad day"  # and no line of a traceback
    assert built.errors[3] == "took more than 0.5 seconds"
    assert "state that is no parameter or buffer: ['c.weight']" in built.errors[5]


def test_an_import_that_touched_cuda_means_a_process_of_its_own(tmp_path, monkeypatch):
    """What a fork cannot have is built by a fresh interpreter: the same package."""
    import compile_server
    request = {"request": 0, "task": "package", "out": str(tmp_path / "0.pt2"), "source": TIED,
               "folder": str(tmp_path), "class": "Net", "state": [["a.weight", "b.weight"]],
               "inputs": [], "max_autotune": False, "seconds": 300}
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: True)
    pid = os.fork()
    if pid == 0:
        compile_server.work_in_child(request, "cpu")
    assert os.waitpid(pid, 0)[1] == 0, (tmp_path / "0.log").read_text()
    x, weight = torch.randn(8, 32), torch.randn(32, 32)
    package = torch._inductor.aoti_load_package(request["out"])
    torch.testing.assert_close(package(weight, x), torch.relu(x @ weight.T) @ weight.T)
