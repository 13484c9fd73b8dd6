"""The cases of tests/graph_cases.py on a GPU."""

import contextlib
import pathlib
import sys
import threading
import time

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import graph_cases  # noqa: E402
from command import has_gpu  # noqa: E402
from graph_cases import *  # noqa: E402, F403
from test_export import folder  # noqa: E402, F401
from test_host_path import host_package  # noqa: E402
from truth_calls import load  # noqa: E402

pytestmark = pytest.mark.skipif(not has_gpu(), reason="no GPU")


class Case:
    real, rows = True, 1000

    def __init__(self, folder, monkeypatch):
        self.module = load(folder / "optimized.py", "graphs_export")
        self.export, self.reference = self.module.ModelNew().cuda(), self.module.Model().cuda()
        self.reference.load_state_dict(self.export.state_dict())
        self.x, self.limit_of_graphs = self.random(8, 16), 60 << 20
        self.captures = self.replays = 0
        cuda, case = type(self.module._kw_cuda), self

        class Counted(cuda):
            def end(self, stream):
                case.captures += 1
                return super().end(stream)

            def launch(self, graph, stream):
                case.replays += 1
                super().launch(graph, stream)

        self.module._kw_cuda = Counted()

    def random(self, *shape):
        return torch.randn(*shape, device="cuda")

    def forget(self):
        pass

    def taken(self):
        return torch.cuda.memory_reserved()

    @contextlib.contextmanager
    def stream(self):
        """Its work begins late."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(1_000_000)
            yield

    def streams_waited(self):
        """A call ends after one before it on a stream that still sleeps."""
        torch.cuda.synchronize()
        late, done = torch.cuda.Stream(), torch.cuda.Event()
        with torch.no_grad():
            with torch.cuda.stream(late):
                torch.cuda._sleep(200_000_000)
                self.export(self.x)
            self.export(self.x)
            done.record()
            time.sleep(0.01)
            asleep = not late.query()
            assert not done.query() and asleep, "the GPU still sleeps, or this shows nothing"
        torch.cuda.synchronize()

    def captured_by_the_user(self):
        x, graph = self.random(8, 16), torch.cuda.CUDAGraph()
        replays = self.replays
        with torch.no_grad():
            with torch.cuda.graph(graph):
                got = self.export(x)
            assert self.replays == replays
            for _ in range(2):
                x.normal_()
                graph.replay()
                torch.testing.assert_close(got, self.reference(x))

    def break_captures(self, monkeypatch):
        launch = type(self.module._kw_launch_3)
        call = launch.__call__

        def waits(self, where, *args):
            call(self, where, *args)
            torch.cuda.current_stream().synchronize()

        monkeypatch.setattr(launch, "__call__", waits)


@pytest.fixture(params=["Python", "C++"])
def case(folder, monkeypatch, request):  # noqa: F811
    case = Case(folder, monkeypatch)
    case.module._kw_host = case.module._kw_Host if request.param == "Python" else host_package()
    return case


def test_random_numbers_of_other_threads_go_on(case):
    """Also after a capture that failed (graph_cases.py)."""
    ends, failed = threading.Event(), []

    def draw():
        while not ends.is_set():
            try:
                torch.rand(8, device="cuda")
            except RuntimeError as error:
                failed.append(error)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for _ in range(20):
            case.export.graphed()
            graph_cases.check(case)
    finally:
        ends.set()
        thread.join()
    assert case.captures >= 20 and not failed
