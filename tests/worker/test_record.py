"""Recordings against PyTorch: a Task, run by a reader of its own, does what the model does."""

import ast
import dataclasses
import re
import sys
import types

import pytest
import torch
from models import MODELS

import replay


def reach(owner, name):
    """What `layers[1].0.weight` names."""
    for part in name.split("."):
        attribute, *items = re.findall(r"[^\[\]]+", part)
        owner = getattr(owner, attribute)
        for item in items:
            owner = owner[ast.literal_eval(item)]
    return owner


def eager(source, state, names, arguments, seed):
    """Runs the file's own model on the CPU with the state that the Task made."""
    module = types.ModuleType("eager_model")
    sys.modules["eager_model"] = module  # where a dataclass looks up its annotations
    exec(compile(source, "eager_model.py", "exec"), module.__dict__)
    init = module.__dict__.get("get_init_inputs", list)()
    model = module.Model(**init) if isinstance(init, dict) else module.Model(*init)
    table = dict(model.named_parameters(remove_duplicate=False))
    table.update(model.named_buffers(remove_duplicate=False))
    with torch.no_grad():
        for tensor, entry in zip(state, names):
            for name in entry["names"]:
                if name in table:
                    table[name].copy_(tensor)
                elif "[" in name:  # inside a plain container
                    reach(model, name).copy_(tensor)
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    torch.manual_seed(seed)
    with torch.inference_mode():
        result = model(*arguments)
    torch.backends.mha.set_fastpath_enabled(fast)
    return model, result


def plain(value):
    """A result in which objects are (name of their class, their fields)."""
    if dataclasses.is_dataclass(value):
        return (type(value).__name__, {f.name: plain(getattr(value, f.name))
                                       for f in dataclasses.fields(value)})
    if hasattr(value, "_fields"):
        return (type(value).__name__, {name: plain(getattr(value, name))
                                       for name in value._fields})
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype and a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same(x, y)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    else:
        assert a == b


@pytest.fixture(scope="module")
def recorded(client, tools):
    cache = {}

    def get(name):
        if name not in cache:
            reply, _ = client.run(tools.request(MODELS[name]))
            assert reply["status"] == "ok", reply
            cache[name] = reply["task"]
        return cache[name]

    return get


@pytest.mark.parametrize("name", sorted(MODELS))
def test_task_does_what_the_model_does(name, recorded):
    task = recorded(name)
    if name in ("random_in_forward", "generator_none"):
        replay.run_task(task)
        return
    state, arguments, result, after = replay.run_task(task)
    model, expected = eager(MODELS[name], state, task["state"], arguments, 0)
    assert_same(result, plain(expected))
    # Buffers that the call updates are updated in the Task's state too.
    buffers = dict(model.named_buffers())
    for tensor, entry in zip(after, task["state"]):
        for key in entry["names"]:
            if key in buffers:
                assert_same(tensor, buffers[key].detach())


@pytest.mark.parametrize("name", sorted(MODELS))
def test_recording_is_deterministic(name, recorded, client, tools):
    reply, _ = client.run(tools.request(MODELS[name]))
    assert reply["task"] == recorded(name)


def test_state_names_and_ties(recorded):
    task = recorded("tied_weights")
    entries = [(e["names"], e["kind"]) for e in task["state"]]
    assert (["a.weight", "b.weight"], "parameter") in entries
    assert len(entries) == 5


def test_other_tensors_are_state(recorded):
    kinds = {tuple(e["names"]): e["kind"] for e in recorded("constants_everywhere")["state"]}
    assert kinds[("factor",)] == "buffer"
    assert kinds[("scale",)] == "constant"
    assert kinds[("many[0]",)] == kinds[("many[1]",)] == "constant"
    assert kinds[()] == "constant"  # TABLE, which no attribute path reaches


def test_tensors_in_containers_are_named(recorded):
    names = [n for e in recorded("parameters_in_containers")["state"] for n in e["names"]]
    assert {"weights[0]", "weights[1]", 'table["a"]', "table[3][0]", "layers[0].weight",
            "layers[1].0.bias", "layers[1].1.running_mean"} <= set(names)


def test_autocast_is_recorded_as_its_casts(recorded):
    forward = recorded("autocast_regions")["forward"]
    of = {"aten.linear.default": [], "aten.matmul.default": []}
    for step in forward["steps"]:
        if step["op"] in of:
            of[step["op"]].append(forward["values"][step["results"][0]]["dtype"])
    assert of == {"aten.linear.default": ["bfloat16", "bfloat16", "float32", "float16"],
                  "aten.matmul.default": ["bfloat16"]}


def test_results_name_their_classes(recorded):
    tree = recorded("data_classes")["result"]["object"]
    assert tree["type"] == "Output" and list(tree["fields"]) == ["logits", "pair", "loss"]
    assert tree["fields"]["pair"]["object"]["type"] == "Pair"


def test_whole_operators_stay_whole(recorded):
    ops = [s["op"] for s in recorded("attention")["forward"]["steps"]]
    assert ops.count("aten.linear.default") == 2
    assert ops.count("aten.scaled_dot_product_attention.default") == 1
    ops = [s["op"] for s in recorded("lstm")["forward"]["steps"]]
    assert ops.count("aten.lstm.input") == 1


def test_what_outlives_a_call_is_derived(recorded):
    task = recorded("weights_packed_once")
    assert len(task["derive"]["outputs"]) == 2
    assert all("contiguous" not in s["op"] for s in task["forward"]["steps"])
    assert task["forward"]["inputs"] == list(range(2 + 2 + 1))


def test_mutations_are_named(recorded):
    forward = recorded("batch_norm_training")["forward"]
    norm, = [s for s in forward["steps"] if s["op"] == "aten.batch_norm.default"]
    assert norm["mutated"] == [norm["args"]["running_mean"]["v"], norm["args"]["running_var"]["v"]]
    forward = recorded("buffer_updated")["forward"]
    for step in forward["steps"]:
        if step["op"].endswith(("_.Tensor", "_.Scalar")):
            assert step["mutated"] == [step["args"]["self"]["v"]]
            old, new = (forward["values"][v] for v in (step["mutated"][0], step["results"][0]))
            assert old["storage"] == new["storage"]


def test_defaults_are_left_out_and_devices_named(recorded):
    task = recorded("rms_norm_swiglu")
    for program in ("init", "inputs", "forward"):
        for step in task[program]["steps"]:
            assert "pin_memory" not in step["args"] and "layout" not in step["args"]
            assert step["args"].get("device", {"device": "cuda"}) == {"device": "cuda"}
    assert task["source"]["parameters"] == ["x"]


def test_same_tensor_twice_is_one_leaf(recorded):
    task = recorded("trees")
    assert task["arguments"][0] == {"in": 0}
    assert task["arguments"][1] == {"tuple": [{"in": 1}, {"in": 0}]}
    result = dict(task["result"]["dict"])
    assert result["same"] == result["sum"]


def test_a_candidate_is_called_with_the_references_inputs(client, tools):
    candidate = """
import torch
class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
    def forward(self, x):
        return x * self.weight
"""
    reference = """
import torch
def get_inputs():
    return [torch.randn(5, 16)]
def get_init_inputs():
    return [16]
"""
    reply, _ = client.run(tools.request(candidate, "ModelNew",
                                        harness={"source": reference, "file": "reference.py"}))
    task = reply["task"]
    assert task["inputs"]["values"][-1]["shape"] == [5, 16]
    assert task["forward"]["values"][0]["shape"] == [16]


def test_mode_is_recorded_when_forward_asks_for_it(client, tools):
    template = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = %s
        %s
    def forward(self, x):
        return self.inner(x)
def get_inputs():
    return [torch.randn(4, 8)]
"""
    for inner, then, modes in (("torch.nn.ReLU()", "pass", {}),
                               ("torch.nn.BatchNorm1d(8)", "pass", {"inner": True}),
                               ("torch.nn.BatchNorm1d(8)", "self.eval()", {"inner": False}),
                               ("torch.nn.Sequential(torch.nn.BatchNorm1d(8), torch.nn.Dropout())",
                                "self.inner[1].eval()", {"inner.0": True, "inner.1": False}),
                               ("lambda x: x if self.training else -x", "pass", {"": True})):
        reply, _ = client.run(tools.request(template % (inner, then)))
        told = reply["task"]["source"]["modules"]
        assert {path: part["settings"]["training"] for path, part in told.items()
                if "training" in part["settings"]} == modes


SETTINGS = """
import torch
class Part(torch.nn.Module):
    share = 0.25
    def __init__(self):
        super().__init__()
        self.eps, self.words, self.shape, self.seed = 1e-5, ("a", (None, True)), torch.Size([8]), 7
        self.far, self.many, self.tensor = float("-inf"), [1, 2], torch.ones(8)
        self.bias = None
        self.register_parameter("weight", None)
    @property
    def both(self):
        return self.eps
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.part, self.twice = 0, Part(), None
        self.parts = [self.part, torch.nn.LayerNorm(8)]
        self.part.register_forward_hook(lambda module, given, result: None)
        self.part.forward = lambda x: x + self.part.tensor
    def forward(self, x):
        self.calls += 1
        part, name = self.part, "shape"
        assert part.share == 0.25 and not hasattr(part, "absent") and part.many and vars(part)["seed"] == 7
        x = part(x) * part.both + (0 if part.words[1][1] and self.twice is None else 1)
        return self.parts[1](x).reshape(-1, *getattr(part, name)).clamp(min=part.far)
def get_inputs():
    return [torch.randn(4, 8)]
"""


def test_plain_attributes_that_forward_reads_are_recorded(client, tools):
    reply, _ = client.run(tools.request(SETTINGS))
    assert reply["status"] == "ok", reply
    told = reply["task"]["source"]["modules"]
    line = 1 + next(i for i, text in enumerate(SETTINGS.splitlines()) if "lambda x" in text)
    column = SETTINGS.splitlines()[line - 1].index("self.part.tensor")
    part = {"class": "Part", "parts": ["weight"], "hooks": 1, "hiding": ["forward"], "settings": {
        "eps": 1e-5, "words": {"tuple": ["a", {"tuple": [None, True]}]}, "shape": {"tuple": [8]}, "far": {"f": "-inf"},
        "forward": "<Model.__init__.<locals>.<lambda> at line %d:%d of part tensor>" % (line, column)}, "absent": ["absent"]}
    plain = {"hooks": 0, "hiding": [], "absent": []}
    norm = {**plain, "class": "torch.nn.modules.normalization.LayerNorm", "parts": ["weight", "bias"],
            "settings": {"eps": 1e-5, "normalized_shape": {"tuple": [8]}}}
    assert told == {"": {**plain, "class": "Model", "parts": ["part"], "settings": {"twice": None}}, "part": part,
                    "parts": {**plain, "class": "list", "parts": ["0", "1"], "settings": {}},
                    "parts[0]": part, "parts[1]": norm}


def test_classes_are_as_before_after_their_attributes_were_watched():
    """Whatever they had: a class's own value, one that it inherits, a property, and none."""
    from settings import SettingReads

    class Base(torch.nn.Module):
        share, slope = 1, 2

    class Part(Base):
        slope = 3

        @property
        def computed(self):
            return 5

        def __init__(self):
            super().__init__()
            self.share, self.slope, self.own = 10, 20, 30
            vars(self)["computed"] = 40

    modules = [(Part(), ["a"]), (Base(), ["b"])]
    modules[1][0].share = 11
    before = [dict(vars(cls)) for cls in (Base, Part)]
    with SettingReads(modules) as reads:
        part, base = modules[0][0], modules[1][0]
        assert (part.share, part.slope, part.own, part.computed) == (10, 20, 30, 5)
        assert (base.share, base.slope, Part.share, Base.slope) == (11, 2, 1, 2)
        part.own = 31
        del part.slope
        assert part.slope == 3 and part.own == 31
        base.slope = 4
        with pytest.raises(AttributeError, match="own"):
            base.own
    assert [dict(vars(cls)) for cls in (Base, Part)] == before
    assert vars(modules[1][0])["slope"] == 4
    assert reads.described()["a"]["settings"] == {"share": 10}
    assert reads.described()["b"]["settings"] == {"share": 11}


TABLE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", make())
        %s
    def forward(self, x):
        if %s:
            return x + self.table
        return x - self.table
def make(n=8):
    positions, table = torch.arange(n), torch.zeros(2, n)
    table[0] = torch.sin(positions * 0.5)
    table[1, ::2] = 1.0
    return %s
def get_inputs():
    return [torch.randn(2, 8)]
"""


@pytest.mark.parametrize("then, asked, made, known", [
    ("pass", "torch.equal(self.table, make())", "table", True),
    ("pass", "torch.equal(make(), self.table)", "table.t().contiguous().t()", True),
    ("pass", "torch.equal(self.table, make() + 0.0)", "table", False),
    ("pass", "torch.equal(self.table, make(8) * 2)", "table", False),
    ("pass", "torch.equal(self.table, x)", "table", False),
    ("pass", "torch.equal(self.table, make())", "table + torch.rand(2, 8)", False),
    ("self.table[0, 0] = 3.0", "torch.equal(self.table, make())", "table", False),
    ("pass", "torch.equal(self.table, make()) and self.table.add_(1) is not None"
             " and torch.equal(self.table, make())", "table", False)])
def test_tensors_that_equal_steps_made_are_equal(client, tools, then, asked, made, known):
    """That is known without their values. Of all others a recording knows nothing."""
    reply, _ = client.run(tools.request(TABLE % (then, asked, made)))
    if known:
        assert reply["task"]["forward"]["steps"][-1]["op"] == "aten.add.Tensor"
    else:
        assert reply["code"] == "host-read", reply


def test_a_model_may_copy_itself_while_it_is_called(client, tools):
    """As PyTorch's own fusion of a convolution and a batch norm does."""
    source = """
import copy
import torch
from torch.nn.utils.fusion import fuse_conv_bn_eval
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)
        self.fused = []
        self.eval()
    def forward(self, x):
        if not self.fused:
            self.fused.append(fuse_conv_bn_eval(self.conv, self.norm))
        assert not copy.copy(self.norm).training and "training" in vars(self.norm)
        return self.fused[0](x)
def get_inputs():
    return [torch.randn(2, 3, 8, 8)]
"""
    reply, _ = client.run(tools.request(source))
    assert reply["status"] == "ok", reply
    assert [step["op"] for step in reply["task"]["forward"]["steps"]] == ["aten.conv2d.default"]
    state, arguments, result, _ = replay.run_task(reply["task"])
    _, expected = eager(source, state, reply["task"]["state"], arguments, 0)
    torch.testing.assert_close(result, expected)


def test_fragment_inputs(client, tools):
    values = [{"dtype": "float32", "shape": [4, 8], "strides": [8, 1], "offset": 0, "storage": 0},
              {"dtype": "bfloat16", "shape": [8, 4], "strides": [1, 8], "offset": 0, "storage": 1},
              {"dtype": "float32", "shape": [3], "strides": [1], "offset": 2, "storage": 2},
              {"dtype": "float32", "shape": [3], "strides": [1], "offset": 0, "storage": 2}]
    source = """
import torch
class Model(torch.nn.Module):
    def forward(self, a, b, c, d):
        return a @ b.float(), c + d
"""
    reply, _ = client.run(tools.request(source, inputs=values, init_inputs=False))
    task = reply["task"]
    assert task["state"] == []
    program = task["inputs"]
    found = [program["values"][v] for v in program["outputs"]]
    for given, got in zip(values, found):
        assert {k: v for k, v in given.items() if k != "storage"} == \
            {k: v for k, v in got.items() if k != "storage"}
    assert found[2]["storage"] == found[3]["storage"] != found[0]["storage"]
    _, arguments, result, _ = replay.run_task(task)
    torch.testing.assert_close(result[1], arguments[2] + arguments[3], equal_nan=True)


def test_folder_imports(client, tools, tmp_path):
    (tmp_path / "layers_of_mine.py").write_text(
        "import torch\nclass Double(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x * 2.0\n")
    source = """
import torch
from layers_of_mine import Double
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.twice = Double()
    def forward(self, x):
        return self.twice(x)
def get_inputs():
    return [torch.randn(3)]
"""
    reply, _ = client.run(tools.request(source, folder=str(tmp_path)))
    assert reply["status"] == "ok", reply
    assert [s["op"] for s in reply["task"]["forward"]["steps"]] == ["aten.mul.Tensor"]


def test_errors_in_imported_files_name_the_users_line(client, tools, tmp_path):
    (tmp_path / "broken_helper.py").write_text("def f(x):\n    return x.item()\n")
    source = """
import torch
from broken_helper import f
class Model(torch.nn.Module):
    def forward(self, x):
        return x * f(x)
def get_inputs():
    return [torch.randn(1)]
"""
    reply, _ = client.run(tools.request(source, folder=str(tmp_path)))
    assert (reply["code"], reply["file"], reply["line"]) == ("host-read", "model.py", 6)


def test_switches_that_change_numerics_are_warned_of(client, tools):
    source = "import torch\ntorch.set_float32_matmul_precision('high')\n" \
        + MODELS["rms_norm_swiglu"]
    reply, _ = client.run(tools.request(source))
    assert len(reply["warnings"]) == 1 and "matmul" in reply["warnings"][0]
    reply, _ = client.run(tools.request(MODELS["rms_norm_swiglu"]))
    assert reply["warnings"] == []


def test_the_device_is_the_profiles(client, tools):
    source = """
import torch
import triton
class Model(torch.nn.Module):
    def forward(self, x):
        p = torch.cuda.get_device_properties(x.device)
        q = triton.runtime.driver.active.utils.get_device_properties(torch.cuda.current_device())
        assert x.is_cuda and torch.cuda.is_available()
        assert p.multi_processor_count == q["multiprocessor_count"]
        assert torch.cuda.get_device_capability() == (9, 0)
        torch.cuda.synchronize()
        with torch.cuda.device(x.device):
            return x * p.multi_processor_count
def get_inputs():
    return [torch.randn(3)]
"""
    reply, _ = client.run(tools.request(source))
    assert reply["status"] == "ok", reply
    assert reply["task"]["forward"]["steps"][0]["args"]["other"] == tools.profile["sms"]


def test_marks_for_a_profiler_are_no_steps(client, tools):
    source = """
import torch
class Model(torch.nn.Module):
    @torch.profiler.record_function("whole")
    def forward(self, x):
        torch.cuda.nvtx.range_push("part")
        with torch.profiler.record_function("part"), torch.cuda.nvtx.range("part"):
            y = x * 2
        torch.cuda.nvtx.range_pop()
        torch.cuda.nvtx.mark("done")
        return y
def get_inputs():
    return [torch.randn(3)]
"""
    reply, _ = client.run(tools.request(source))
    assert reply["status"] == "ok", reply
    assert [step["op"] for step in reply["task"]["forward"]["steps"]] == ["aten.mul.Tensor"]


PACKING = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, w, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * tl.load(w + i, mask=i < n), mask=i < n)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(64))
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            %s
        y = torch.empty_like(x)
        scale[(1,)](x, self.packed, y, 64, BLOCK=64)
        return y

def get_inputs():
    return [torch.randn(64)]
"""
FIRST_CALL = {
    "by an operator": ("self.packed = self.w * 2.0", 0),
    "by a kernel": ("self.packed = torch.empty_like(self.w); "
                    "scale[(1,)](self.w, self.w, self.packed, 64, BLOCK=64)", 1),
    "by a kernel, in place": ("self.packed = self.w * 2.0; "
                              "scale[(1,)](self.w, self.packed, self.packed, 64, BLOCK=64)", 1),
}


@pytest.mark.parametrize("how", sorted(FIRST_CALL))
def test_weights_packed_once_for_a_kernel_are_derived(how, client, tools):
    """What a launch writes is unknown, but what it reads with the inputs it need not have made."""
    line, launches = FIRST_CALL[how]
    reply, _ = client.run(tools.request(PACKING % line))
    assert reply["status"] == "ok", reply
    derive, forward = reply["task"]["derive"], reply["task"]["forward"]
    assert len(derive["outputs"]) == 1
    assert sum("launch" in step for step in derive["steps"]) == launches
    assert sum("launch" in step for step in forward["steps"]) == 1


@pytest.mark.parametrize("line", [
    "self.packed = x * 2.0",
    "self.packed = torch.empty_like(x); scale[(1,)](x, x, self.packed, 64, BLOCK=64)",
    "self.packed = torch.empty_like(x).view(64); scale[(1,)](x, x, self.packed, 64, BLOCK=64)"])
def test_what_a_first_call_made_of_its_inputs_is_refused(line, client, tools):
    reply, _ = client.run(tools.request(PACKING % line))
    assert (reply["status"], reply.get("code")) == ("refused", "survives"), reply
