"""What only a GPU can show of an export: launches that do not ask Triton again, streams, graphs and threads.

`bench/gpu.sh test` runs these on a GPU host; elsewhere they are skipped.
"""

import concurrent.futures
import pathlib
import sys
import time

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from command import has_gpu, run  # noqa: E402
from test_host_path import CANDIDATE, HEAD, KERNEL, REFERENCE  # noqa: E402
from truth_calls import load  # noqa: E402

pytestmark = pytest.mark.skipif(not has_gpu(), reason="no GPU")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    (folder / "model.py").write_text(HEAD.format(cls="Model", forward=REFERENCE))
    (folder / "mine.py").write_text(HEAD.format(cls="ModelNew", forward=CANDIDATE) + KERNEL)
    done = run("verify", folder / "model.py", folder / "mine.py", "--no-time", "--backend", "cuda", "--out", folder / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out"


class Refused:
    def __getitem__(self, grid):
        raise AssertionError("Triton was asked again")


class Case:
    """An export and its reference with equal weights, on the GPU."""

    def __init__(self, folder):
        self.module = load(folder / "optimized.py", "export_on_gpu")
        self.export, self.reference = self.module.ModelNew().cuda(), self.module.Model().cuda()
        self.reference.load_state_dict(self.export.state_dict())
        self.launches = [part for name, part in vars(self.module).items() if name.startswith("_kw_launch_")]
        assert len(self.launches) == 12

    def compiled(self):
        """After this no launch may ask Triton."""
        self.check()
        for launch in self.launches:
            launch.kernel = Refused()
        return self

    def check(self, x=None):
        x = torch.randn(8, 16, device="cuda") if x is None else x
        with torch.no_grad():
            got = self.export(x)
            torch.testing.assert_close(got, self.reference(x))
        assert not self.export.__dict__.get("_kw_warned")
        return got


@pytest.fixture
def case(folder):
    return Case(folder)


def test_launches_ask_triton_once(case):
    case.compiled()
    for _ in range(3):
        case.check()
    with torch.no_grad():
        for p in (*case.export.parameters(), *case.reference.parameters()):
            p.mul_(0.9)
    case.check()
    case.export.load_state_dict(case.module.Model().state_dict())
    case.reference.load_state_dict(case.export.state_dict())
    case.check()
    for model in (case.export, case.reference):
        model.cpu().cuda()
    case.check()


def test_views_that_are_not_aligned(case):
    case.check()
    case.check(torch.randn(8 * 16 + 1, device="cuda")[1:].view(8, 16))
    case.compiled().check()


def test_the_current_stream_is_used(case):
    """Its input is written late: a launch on another stream would read what was there before."""
    case.compiled()
    x, later, stream = torch.zeros(8, 16, device="cuda"), torch.randn(8, 16, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.no_grad(), torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        x.copy_(later)
        got = case.export(x)
        assert not stream.query(), "the GPU still sleeps, or this shows nothing"
    stream.synchronize()
    torch.testing.assert_close(got, case.reference(later))


def test_a_graph_may_capture_it(case):
    case.compiled()
    x = torch.randn(8, 16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        with torch.cuda.graph(graph):
            got = case.export(x)
        for _ in range(2):
            x.normal_()
            graph.replay()
            torch.testing.assert_close(got, case.reference(x))


def test_threads_with_streams_of_their_own(case):
    case.compiled()

    def calls(number):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                case.check()
            torch.cuda.current_stream().synchronize()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(calls, range(4)))


def test_profilers_see_the_launches(case):
    case.check()
    chain, seen = case.module._kw_triton.knobs.runtime.launch_enter_hook, []
    chain.add(seen.append)
    try:
        case.check()
    finally:
        chain.remove(seen.append)
    assert len(seen) == 12


@pytest.mark.parametrize("first", [False, True])
def test_torch_compile_around_it(case, first):
    """Called before or not: what a call found must not be taken into the graph."""
    if first:
        case.compiled()
        for launch in case.launches:
            launch.kernel = case.module.scaled
    torch.compiler.reset()
    compiled = torch.compile(case.export)
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(8, 16, device="cuda")
            torch.testing.assert_close(compiled(x), case.reference(x))
        for p in (*case.export.parameters(), *case.reference.parameters()):
            p.mul_(0.5)
        torch.testing.assert_close(compiled(x), case.reference(x))


def test_host_time(case, capsys):
    """Printed: the host's time of a call, and of the reference's, without waiting for the GPU."""
    case.compiled()
    x, times = torch.randn(8, 16, device="cuda"), {}
    with torch.inference_mode():
        for name in ("export", "reference") * 2:
            model, taken = getattr(case, name), []
            for _ in range(50):
                torch.cuda.synchronize()
                start = time.perf_counter()
                model(x)
                taken.append(time.perf_counter() - start)
            times[name] = 1e6 * min(taken)
    with capsys.disabled():
        print("host time: %.0f us a call of 12 launches, %.0f us of the reference" % (times["export"], times["reference"]))
