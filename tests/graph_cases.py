"""Calls of an export by CUDA graphs: a case for each state of the model and of its surroundings. test_graphs.py has them
run on a GPU that is made of PyTorch's CPU operators, and tests/gpu/test_export_graphs.py on a real one.

A module that imports these has a fixture `case`: an export and its reference with equal weights (`export`,
`reference`, `module`), `captures` and `replays` so far, `stream()`, `random(*shape)`, and what `taken()` memory is.
"""

import concurrent.futures
import copy
import gc
import pickle
import threading
import warnings
import weakref

import pytest
import torch


def called(case, x=None, model=None):
    with torch.no_grad():
        return (model or case.export)(case.random(8, 16) if x is None else x)


def check(case, x=None):
    x = case.random(8, 16) if x is None else x
    got = called(case, x)
    torch.testing.assert_close(got, called(case, x, case.reference))
    return got


def graphed(case, **how):
    """After this, calls replay a graph."""
    assert case.export.graphed(**how) is case.export
    check(case)
    replays = case.replays
    check(case)
    assert case.replays == replays + 1
    return case


def both(case):
    return case.export, case.reference


def test_a_graph_is_captured_once_and_replayed(case):
    graphed(case)
    for _ in range(5):
        check(case)
    assert (case.captures, case.replays) == (1, 7)


def test_results_are_the_callers(case):
    graphed(case)
    results = [check(case) for _ in range(3)]
    kept = [result.clone() for result in results]
    check(case)
    assert all(map(torch.equal, results, kept))


def test_results_are_overwritten_if_that_is_asked_for(case):
    graphed(case, copies=False)
    first, second = check(case), check(case)
    assert first.data_ptr() == second.data_ptr()
    second.unsqueeze_(0)
    assert check(case).shape == (8, 16)


def test_arguments_are_only_read(case):
    graphed(case)
    x = case.random(8, 16)
    before = x.clone()
    check(case, x)
    called(case)
    assert torch.equal(x, before)


def test_weights_that_change_in_place(case):
    graphed(case)
    with torch.no_grad():
        for model in both(case):
            for p in model.parameters():
                p.mul_(0.5)
    check(case)
    assert case.captures == 1, "the graph reads them where they are"


def test_weights_that_are_loaded(case):
    graphed(case)
    state = case.module.Model().state_dict()
    for model in both(case):
        model.load_state_dict(state)
    check(case)
    assert case.captures == 1


def _assigned(model, value):
    model.layers[2].weight = torch.nn.Parameter(value.clone())


def _data(model, value):
    model.layers[2].weight.data = value.clone()


def _loaded(model, value):
    model.load_state_dict({**model.state_dict(), "layers.2.weight": value.clone()}, assign=True)


@pytest.mark.parametrize("change", [_assigned, _data, _loaded])
def test_weights_that_are_replaced(case, change):
    graphed(case)
    value = case.random(16)
    for model in both(case):
        change(model, value)
    check(case)
    check(case)
    assert case.captures == 2


def test_old_weights_go(case):
    graphed(case)
    old = weakref.ref(case.export.layers[2].weight)
    value = case.random(16)
    for model in both(case):
        _assigned(model, value)
    case.forget()
    check(case)
    assert old() is None


def test_a_model_goes_with_its_graphs(case):
    graphed(case)
    gone = weakref.ref(case.export)
    gc.disable()
    try:
        case.export = None
        assert gone() is None
    finally:
        gc.enable()


def test_streams_wait_for_each_other(case):
    """Graphs have one memory, so a replay on another stream begins when the one before has ended."""
    graphed(case)
    want, got = called(case, case.x, case.reference), []
    for _ in range(20):
        with case.stream():
            got.append(called(case, case.x))
        check(case)
    case.streams_waited()
    for result in got:
        torch.testing.assert_close(result, want)
    assert case.captures == 1


def test_threads(case):
    graphed(case)

    def calls(number):
        with case.stream() if case.real else torch.no_grad():
            for _ in range(20):
                check(case)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(calls, range(4)))
    assert case.captures == 1


def test_a_first_call_in_each_of_some_threads(case):
    case.export.graphed()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: check(case), range(16)))
    assert case.captures == 1


def test_another_shape_in_between_keeps_the_graph(case, monkeypatch):
    """It runs the original."""
    graphed(case)
    misfit = case.module._kw_misfit
    monkeypatch.setattr(case.module, "_kw_misfit", lambda tensors, expected: "the shape is another"
                        if tensors[-1].shape != (8, 16) else misfit(tensors, expected))
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(case, case.random(4, 16))
        check(case)
    assert case.captures == 1


def test_arguments_without_alignment_go_by_launches(case):
    graphed(case)
    replays = case.replays
    check(case, case.random(8 * 16 + 1)[1:].view(8, 16))
    assert case.replays == replays
    check(case)
    assert (case.captures, case.replays) == (1, replays + 1)


cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
SETTINGS = {
    "cuDNN is deterministic": (lambda: cudnn.deterministic, lambda value: setattr(cudnn, "deterministic", value)),
    "cuDNN is on": (lambda: cudnn.enabled, lambda value: setattr(cudnn, "enabled", value)),
    "deterministic algorithms": (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    "flash attention": (cuda.flash_sdp_enabled, cuda.enable_flash_sdp),
    "plain attention": (cuda.math_sdp_enabled, cuda.enable_math_sdp),
    "attention that saves memory": (cuda.mem_efficient_sdp_enabled, cuda.enable_mem_efficient_sdp),
    "cuDNN's attention": (cuda.cudnn_sdp_enabled, cuda.enable_cudnn_sdp),
    "sums in half precision": (lambda: cuda.matmul.allow_fp16_accumulation,
                               lambda value: setattr(cuda.matmul, "allow_fp16_accumulation", value)),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_other_settings_of_pytorch_go_by_launches(case, setting):
    """They may choose other kernels than the graph has."""
    graphed(case)
    read, put = SETTINGS[setting]
    replays, before = case.replays, read()
    put(not before)
    try:
        check(case)
    finally:
        put(before)
    assert case.replays == replays
    check(case)
    assert (case.captures, case.replays) == (1, replays + 1)


@pytest.mark.parametrize("what", ["matmul", "conv", "rnn"])
def test_another_precision_goes_by_launches(case, what):
    graphed(case)
    owner = cuda.matmul if what == "matmul" else getattr(cudnn, what)
    replays, before = case.replays, owner.fp32_precision
    owner.fp32_precision = "ieee" if before != "ieee" else "tf32"
    try:
        called(case)
    finally:
        owner.fp32_precision = before
    assert case.replays == replays
    check(case)
    assert (case.captures, case.replays) == (1, replays + 1)


def test_a_default_device_keeps_the_graph(case):
    """It is a mode of functions, which the steps do not depend on."""
    graphed(case)
    replays = case.replays
    with case.export.scale.device:
        called(case)
    assert case.replays == replays + 1


def test_a_replay_that_fails_keeps_the_order_of_streams(case, monkeypatch):
    graphed(case)

    class Full:
        def clone(self):
            raise RuntimeError("out of memory")

    bound = case.export.__dict__["_kw_bound"]
    graph = next(iter(bound.graphs.graphs.values()))
    results, graph.results, done = graph.results, [Full()], []
    record = type(bound.graphs.done).record
    monkeypatch.setattr(type(bound.graphs.done), "record", lambda *given: (done.append(1), record(*given))[1])
    with pytest.raises(RuntimeError, match="out of memory"):
        called(case)
    graph.results = results
    assert done, "the next stream waits for what was launched"
    check(case)


def test_modes_that_watch_operators_see_the_steps(case):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        seen = 0

        def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
            self.seen += 1
            return function(*args, **kwargs or {})

    graphed(case)
    x, replays = case.random(8, 16), case.replays
    want = called(case, x, case.reference)
    with Watch() as watch:
        got = called(case, x)
    torch.testing.assert_close(got, want)
    assert watch.seen >= 14 and case.replays == replays


def test_gradients_run_the_original(case):
    graphed(case)
    x, replays = case.random(8, 16), case.replays
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = case.export(x)
    assert got.requires_grad and case.replays == replays
    check(case)
    assert (case.captures, case.replays) == (1, replays + 1), "the graph was kept"


def test_frozen_weights_with_and_without_gradients(case):
    """A graph each, and no further ones."""
    for model in both(case):
        model.requires_grad_(False)
    graphed(case)
    for _ in range(5):
        x = case.random(8, 16)
        torch.testing.assert_close(case.export(x), case.reference(x))
        check(case)
    assert case.captures == 2


def test_inference_mode_and_no_grad_share_a_graph(case):
    case.export.graphed()
    x = case.random(8, 16)
    want = called(case, x, case.reference)
    for mode in (torch.inference_mode, torch.no_grad) * 2:
        with mode():
            got = case.export(x)
            assert got.is_inference() == (mode is torch.inference_mode)
        torch.testing.assert_close(got, want)
    with torch.inference_mode():
        torch.testing.assert_close(case.export(x.clone()), want)
    assert case.captures == 1


def test_copies_of_the_model_have_graphs_of_their_own(case):
    graphed(case)
    for copied in (copy.deepcopy(case.export), pickle.loads(pickle.dumps(case.export)), copy.copy(case.export)):
        captures, x = case.captures, case.random(8, 16)
        torch.testing.assert_close(called(case, x, copied), called(case, x, case.reference))
        assert case.captures == captures + 1, "what graphed() was told is copied, too"
    replays = case.replays
    check(case)
    assert case.replays == replays + 1


def test_a_capture_by_the_user_has_the_launches(case):
    graphed(case)
    replays = case.replays
    case.captured_by_the_user()
    assert case.replays == replays


def test_what_cannot_be_captured_says_so_once(case, monkeypatch):
    case.break_captures(monkeypatch)
    case.export.graphed()
    with pytest.warns(UserWarning, match="calls go by launches, because there is no CUDA graph: .*(not permitted|operation)"):
        check(case)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            check(case)
    assert case.replays == 0


def test_graphs_that_take_too_much_memory(case):
    case.export.graphed(limit=0)
    with pytest.warns(UserWarning, match="it takes .* bytes, and 0 are allowed"):
        check(case)
    check(case)
    assert case.replays == 0 and case.export.__dict__["_kw_bound"].graphs.pool is None, "its memory goes"


def test_who_is_warned_may_call_the_model(case, monkeypatch):
    case.export.graphed(limit=0)
    seen = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: seen.append((str(message), check(case))))

    def calls():
        with torch.no_grad():  # which is each thread's own
            check(case)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        thread = threading.Thread(target=calls, daemon=True)
        thread.start()
        thread.join(60)
    assert not thread.is_alive() and len(seen) == 1 and "0 are allowed" in seen[0][0]


def test_graphs_are_for_repeated_calls_where_the_host_is_late(case, monkeypatch):
    """As it is without graphed(): a few calls by launches, then both ways are timed."""
    late = {"replayed": (1e-5, 1e-4), "launched": (3e-4, 4e-4)}
    monkeypatch.setattr(case.module, "_kw_seconds", lambda run, times: (run(), late[run.__name__])[1])
    for _ in range(2):
        check(case)
    assert case.captures == 0
    check(case)
    assert case.captures == 1
    replays = case.replays
    check(case)
    assert case.replays == replays + 1


@pytest.mark.parametrize("late", [{"launched": (1e-5, 4e-4)},
                                  {"replayed": (1e-5, 5e-4), "launched": (3e-4, 4e-4)}])
def test_launches_stay_where_a_graph_is_not_faster(case, monkeypatch, late):
    monkeypatch.setattr(case.module, "_kw_seconds", lambda run, times: (run(), late[run.__name__])[1])
    for _ in range(4):
        check(case)
    replays = case.replays
    for _ in range(10):
        check(case)
    assert case.replays == replays and case.captures <= 1


def test_no_graphs_where_they_are_not_wanted(case, monkeypatch):
    monkeypatch.setattr(case.module, "_kw_seconds", None)
    assert case.export.graphed(False) is case.export
    for _ in range(10):
        check(case)
    assert case.captures == 0


def test_a_model_that_changes_often_is_captured_less_often(case, monkeypatch):
    late = {"replayed": (1e-5, 1e-4), "launched": (3e-4, 4e-4)}
    monkeypatch.setattr(case.module, "_kw_seconds", lambda run, times: (run(), late[run.__name__])[1])
    for _ in range(20):
        for _ in range(12):
            check(case)
        value = case.random(16)
        for model in both(case):
            _assigned(model, value)
    assert case.captures == 3, "after 3, 6 and 12 calls; never after 24"


def test_memory_is_bounded(case, monkeypatch):
    """A thousand calls with 50 shapes, of which the kernels see the first 8 rows."""
    misfit, expected = case.module._kw_misfit, case.module.ModelNew._kw_expected
    monkeypatch.setattr(case.module, "_kw_misfit", lambda tensors, _: misfit(tensors[:-1], expected[:-1]))
    case.export.graphed(False)
    for number in range(1050):
        if number == 50:  # PyTorch keeps what these calls took
            case.export.graphed(limit=case.limit_of_graphs)
            before, most = case.taken(), 0
        rows = 8 + number * 7 % 50 * case.rows
        x = case.random(rows, 16)
        got = called(case, x)
        assert got.shape == (rows, 16)
        torch.testing.assert_close(got[:8], called(case, x[:8], case.reference))
        if number >= 50:
            most = max(most, case.taken() - before)
    assert case.captures > 50, "the limit was reached"
    assert most <= 2 * case.limit_of_graphs
