"""What is recorded of autotuned launches, against what Triton does around the launch that counts."""

import pytest

SOURCE = """
import torch
import triton
import triton.language as tl

def note(what):
    # Leaves a trace in the recording: a fill with a number of its own.
    def hook(args, **more):
        args["y"].fill_(float(what))
    return hook

def zero_steps(args):
    args["y"].fill_(100.0 + args["BLOCK"])

def small(configs, args, n=None, **more):
    return [c for c in configs if c.kwargs["BLOCK"] <= 256]

def by_size(BLOCK, **args):
    return -BLOCK

def timed(x, **args):
    return triton.testing.do_bench(lambda: x.clone())

CONFIGS = [triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}),
           triton.Config({"BLOCK": 512}, num_ctas=1, num_stages=2)]

@triton.autotune(configs=CONFIGS, key=["n"]%s)
@triton.heuristics({"EVEN": lambda args: args["n"] %% args["BLOCK"] == 0})
@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

class Model(torch.nn.Module):
    def run(self, x):
        y = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
        return y
    def forward(self, x):
        y = self.run(x)
        %s
        return y

def get_inputs():
    return [torch.randn(1000)]
"""


def source(extra="", body="pass"):
    return SOURCE % (", " + extra if extra else "", body)


@pytest.fixture
def record(client, tools):
    def run(text, **changes):
        return client.run(tools.request(text, **changes))[0]
    return run


def steps(reply):
    """Launches as (grid, BLOCK), fills as their number, in the order of the forward Program."""
    assert reply["status"] == "ok", reply
    found = []
    for step in reply["task"]["forward"]["steps"]:
        if "launch" in step:
            found.append((step["grid"][0],
                          reply["task"]["kernels"][step["launch"]]["constexprs"]["3"]))
        elif step["op"].startswith(("aten.fill_", "aten.zero_")):
            found.append(step["args"].get("value", 0.0))
        else:
            assert step["op"].startswith(("aten.empty", "aten.slice")), step
    return found


def test_the_reply_says_what_there_is_to_choose(record):
    reply = record(source())
    assert reply["tunings"] == [{"kernel": "kernel", "configurations": [
        "BLOCK=64, num_warps=2, num_stages=3", "BLOCK=128, num_warps=4, num_stages=3",
        "BLOCK=512, num_warps=4, num_stages=2"]}]
    assert steps(reply) == [(16, 64)]
    assert reply["task"]["kernels"][0]["options"] == {"num_warps": 2}


@pytest.mark.parametrize("choice, expected", [([0], (16, 64)), ([1], (8, 128)), ([2], (2, 512)),
                                              ([4], (8, 128)), ([1, 7], (8, 128)), ([], (16, 64))])
def test_the_request_chooses(choice, expected, record):
    reply = record(source(), configurations=choice)
    assert steps(reply) == [expected]
    assert reply["tunings"] == record(source())["tunings"]


def test_each_key_is_a_choice_of_its_own(record):
    reply = record(source(body="y = self.run(x[:500]); z = self.run(x); "
                          "w = self.run(x.half()); y = (y, z, w)"), configurations=[0, 1, 2])
    assert [t["kernel"] for t in reply["tunings"]] == ["kernel"] * 3
    launches = [steps for steps in reply["task"]["forward"]["steps"] if "launch" in steps]
    blocks = [reply["task"]["kernels"][s["launch"]]["constexprs"]["3"] for s in launches]
    assert blocks == [64, 128, 64, 512]  # n = 1000; 500; 1000 again; 1000 in half precision


def test_the_heuristics_see_the_configuration(record):
    text = source().replace("torch.randn(1000)", "torch.randn(1024)")
    for index, block in enumerate((64, 128, 512)):
        kernel, = record(text, configurations=[index])["task"]["kernels"]
        assert kernel["constexprs"] == {"3": block, "4": True}


# The pre_hook of the tuner runs once for each key, in the first call; restore_value and post_hook
# belong to the timing runs. So the steady call, which is the one that is recorded, shows the
# configuration's own hook alone.
@pytest.mark.parametrize("extra", ["reset_to_zero=['y']", "restore_value=['y']",
                                   "pre_hook=note(1)", "post_hook=note(2)"])
def test_hooks_of_the_tuner_are_not_in_a_later_call(extra, record):
    assert steps(record(source(extra))) == [(16, 64)]


@pytest.mark.parametrize("extra, expected", [
    ("reset_to_zero=['y']", [0.0, (16, 64)]), ("pre_hook=note(1)", [1.0, (16, 64)]),
    ("restore_value=['y']", [(16, 64)]), ("post_hook=note(2)", [(16, 64)])])
def test_the_first_call_of_a_key_resets(extra, expected, record):
    """A key that only the recorded call meets: its batch grows from call to call."""
    text = source(extra).replace("    def forward(self, x):\n        y = self.run(x)", """
    def forward(self, x):
        self.calls = getattr(self, "calls", 0) + 1
        y = self.run(x[:100 * self.calls])""")
    assert steps(record(text, without=["varies"])) == [(4, 64) if s == (16, 64) else s
                                                      for s in expected]


def test_hooks_of_the_configuration_are_in_every_call(record):
    text = source("reset_to_zero=['y']").replace("num_warps=2)", "num_warps=2, pre_hook=zero_steps)")
    assert steps(record(text)) == [164.0, (16, 64)]
    assert steps(record(text, configurations=[1])) == [(8, 128)]


def test_pruning_limits_the_choice(record):
    reply = record(source("prune_configs_by={'early_config_prune': small}"), configurations=[1])
    assert len(reply["tunings"][0]["configurations"]) == 2
    assert steps(reply) == [(8, 128)]
    reply = record(source("prune_configs_by={'early_config_prune': lambda configs, args, **k: "
                          "configs[2:]}"))
    assert reply["tunings"] == [] and steps(reply) == [(2, 512)]


def test_a_model_of_performance_may_compute_and_not_time(record):
    reply = record(source("prune_configs_by={'perf_model': by_size, 'top_k': 2}"))
    assert steps(reply) == [(2, 512)]
    assert [t["configurations"][0][:9] for t in reply["tunings"]] == ["BLOCK=512"]
    reply = record(source("prune_configs_by={'perf_model': timed, 'top_k': 2}"))
    assert reply["status"] == "refused"
    reply = record(source("prune_configs_by={'early_config_prune': "
                          "lambda configs, args, **k: configs[:int(args['x'][0])]}"))
    assert (reply["status"], reply["code"]) == ("refused", "host-read")
    reply = record(source("prune_configs_by={'early_config_prune': lambda *a, **k: [3]}"))
    assert (reply["status"], reply["code"]) == ("refused", "unsupported")


def test_host_code_may_read_the_winner(record):
    text = source(body="y = y * kernel.best_config.kwargs['BLOCK']")
    for index, block in enumerate((64, 128, 512)):
        last = record(text, configurations=[index])["task"]["forward"]["steps"][-1]
        assert last["args"]["other"] == block


def test_nothing_is_to_choose_of_one_configuration(record):
    """Triton takes the only one as it is: no pruning, no hooks of the tuner's."""
    text = source("reset_to_zero=['y']").replace("configs=CONFIGS", "configs=CONFIGS[1:2]")
    reply = record(text)
    assert reply["tunings"] == [] and steps(reply) == [(8, 128)]
