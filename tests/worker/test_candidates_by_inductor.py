"""What torch.compile writes, made into modules of their own: by the real Inductor, on the CPU. Whether they
compute the right thing is judged by tests/test_inductor.py (the policy); here is what they look like, and what has no
place in one."""

import ast
import json
import re

import pytest

from compiling import CompileServer


def tensor(*shape, strides=None, dtype="float32", offset=0):
    if strides is None:
        strides = [1] * len(shape)
        for i in reversed(range(len(shape) - 1)):
            strides[i] = strides[i + 1] * shape[i + 1]
    return {"dtype": dtype, "shape": list(shape), "strides": list(strides), "offset": offset}


def request(text, inputs, out):
    """As the policy asks: `calls` is what the program's operators are called by."""
    return {"task": "candidate", "text": text, "inputs": inputs, "out": str(out),
            "calls": sorted(set(re.findall(r"torch\.[\w.]+(?=\()", text)))}


def text(parameters, *lines):
    body = "\n".join("    " + line for line in lines)
    return f"def forward({', '.join(parameters)}):\n{body}\n"


TASKS = {
    "pointwise": (text(["a0"], "t0 = torch.relu(a0)", "t1 = torch.mul(t0, 2.0)", "return t1"),
                  [tensor(40, 30)]),
    # Two kernels have a function for their scan each, of one name.
    "scans": (text(["a0", "a1"], "t0 = torch.cumsum(a0, 1)", "t1 = torch.cumprod(a1, 1)",
                   "return (t0, t1)"), [tensor(7, 50), tensor(5, 33)]),
    # A row that is longer than a block: the last value of each is taken out of it by its bits.
    "long scan": (text(["a0"], "t0 = torch.cumsum(a0, 1)", "return t0"), [tensor(200, 3000)]),
    # So long that many blocks share a row, each of which waits for the one before.
    "split scan": (text(["a0"], "t0 = torch.cumsum(a0, 1)", "return t0"), [tensor(2, 1 << 21)]),
    "several": (text(["a0"], "t0 = torch.sigmoid(a0)", "t1 = torch.amax(a0, 1)", "return (t0, a0, t1, )"),
                [tensor(6, 9)]),
    "one of several": (text(["a0"], "t0 = torch.sigmoid(a0)", "return (t0, )"), [tensor(6, 9)]),
    # Rows enough for two kernels, and one result: sizes of 1 are sizes, too.
    "summed": (text(["a0"], "t0 = torch.sum(a0)", "return t0"), [tensor(61, 113)]),
    # Its second result is in the memory of the first.
    "views": (text(["a0"], "t0 = torch.exp(a0)", "t1 = torch.transpose(t0, 0, 1)", "return (t0, t1)"),
              [tensor(6, 9)]),
    "strided": (text(["a0"], "t0 = torch.neg(a0)", "return t0"), [tensor(6, 8, strides=[1, 6])]),
    "offset": (text(["a0"], "t0 = torch.relu(a0)", "return t0"), [tensor(8, 8, offset=1)]),
    "gathered": (text(["a0", "a1"], "t0 = torch.nn.functional.embedding(a1, a0)", "return t0"),
                 [tensor(10, 8), tensor(5, dtype="int64")]),
    "grown": (text(["a0"], 't0 = torch.ones([4, 4], device="cuda")', "t1 = torch.add(t0, a0)", "return t1"),
              [tensor(4, 4)]),
}
NOT_WRITTEN = {
    "of data": (text(["a0"], "t0 = torch.nonzero(a0)", "return t0"), [tensor(8, 8)]),
    "broken": (text(["a0"], "t0 = torch.relu(a1)", "return t0"), [tensor(8, 8)]),
    "no python": ("def forward(a0)\n", [tensor(8, 8)]),
}


# A recording is hostile: what the program's operators, here torch.relu and .view, do not call is not run.
HOSTILE = {
    "statements behind": "def forward(a0):\n    return a0\nopen('%s', 'w')\n",
    "an import": "def forward(a0):\n    import os\n    return a0\n",
    "a default": "def forward(a0=open('%s', 'w')):\n    return a0\n",
    "a named default": "def forward(*, a0=open('%s', 'w')):\n    return a0\n",
    "a decorator": "@open('%s', 'w')\ndef forward(a0):\n    return a0\n",
    "an annotation": "def forward(a0: open('%s', 'w')):\n    return a0\n",
    "an annotation of the rest": "def forward(a0, *a1: open('%s', 'w')):\n    return a0\n",
    "a builtin": "def forward(a0):\n    t0 = open('%s', 'w')\n    return a0\n",
    "a module of torch's": "def forward(a0):\n    t0 = torch.os.open('%s', 65)\n    return a0\n",
    "torch by another name": "def forward(a0):\n    t0 = torch\n    t1 = t0.os.open('%s', 65)\n    return a0\n",
    "a part of torch's": "def forward(a0):\n    t0 = torch.nn\n    t1 = t0.sys\n    return a0\n",
    "torch as an argument": "def forward(a0):\n    t0 = torch.relu(torch)\n    return a0\n",
    "a function of torch's": "def forward(a0):\n    t0 = torch.save(a0, '%s')\n    return a0\n",
    "an operator of no program's": "def forward(a0):\n    t0 = torch.from_file('%s', True, 8)\n    return a0\n",
    "an operator that writes": "def forward(a0):\n    t0 = torch.ops.aten.save(a0, '%s')\n    return a0\n",
    "a library": "def forward(a0):\n    t0 = torch.ops.load_library('%s')\n    return a0\n",
    "a method of no program's": "def forward(a0):\n    t0 = a0.numpy()\n    t1 = t0.tofile('%s')\n    return a0\n",
    "a method of torch's": "def forward(a0):\n    t0 = torch.nn.view('%s')\n    return a0\n",
    "an attribute": "def forward(a0):\n    t0 = a0.data\n    return a0\n",
    "a way round": "def forward(a0):\n    t0 = torch.relu.__self__.__builtins__\n    return a0\n",
    "a comprehension": "def forward(a0):\n    t0 = [open('%s', 'w') for t1 in a0]\n    return a0\n",
    "a text with places": "def forward(a0):\n    t0 = f'{open(chr(47))}'\n    return a0\n",
    "a lambda": "def forward(a0):\n    t0 = (lambda: open('%s', 'w'))()\n    return a0\n",
    "an index": "def forward(a0):\n    t0 = a0[0]\n    return a0\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_function_of_its_operators_is_not_run(name, tmp_path):
    import inductor
    mark = tmp_path / "mark"
    inductor.write({"text": HOSTILE[name].replace("%s", str(mark)), "inputs": [tensor(4)],
                    "calls": ["torch.relu", ".view"], "out": str(tmp_path / "out.json")}, "cpu")
    answer = json.loads((tmp_path / "out.json").read_text())
    assert answer["fault"].startswith("a task's") and not answer["source"] and not mark.exists(), answer


def test_a_device_without_memory_is_no_answer(tmp_path, monkeypatch):
    """Others may have it at the time; whoever asked is told that there was none."""
    import inductor
    import torch

    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 294.00 MiB")
    monkeypatch.setattr(inductor, "_compiled", full)
    code, inputs = TASKS["pointwise"]
    with pytest.raises(torch.OutOfMemoryError):
        inductor.write(request(code, inputs, tmp_path / "out.json"), "cpu")
    assert not (tmp_path / "out.json").exists()


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("candidates")
    server = CompileServer(2)
    tasks = {**TASKS, **NOT_WRITTEN}
    errors = server.ask([request(code, inputs, folder / f"{i}.json")
                         for i, (code, inputs) in enumerate(tasks.values())])
    assert server.close() == 0
    out = {}
    for i, (name, error) in enumerate(zip(tasks, errors)):
        out[name] = {"fault": error} if error else json.loads((folder / f"{i}.json").read_text())
    return out


def functions(source):
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


def forward(source):
    (model,) = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    assert model.name == "ModelNew"
    (method,) = model.body
    return method


@pytest.mark.parametrize("name", TASKS)
def test_a_candidate_needs_nothing_of_inductors(answers, name):
    answer = answers[name]
    assert answer["fault"] == ""
    source = answer["source"]
    assert "torch._inductor" not in source and "triton_helpers" not in source
    assert "_unwrap_if" not in source and "async_compile" not in source and "assert_size_stride" not in source
    for function in functions(source):
        assert [ast.unparse(each) for each in function.decorator_list] == ["triton.jit"]
    names = [function.name for function in functions(source)]
    assert len(names) == len(set(names))
    parameters = [each.arg for each in forward(source).args.args]
    assert parameters == ["self", *(f"a{i}" for i in range(len(TASKS[name][1])))]


@pytest.mark.parametrize("name", TASKS)
def test_the_plan_has_a_line_for_each_kernel(answers, name):
    launched = {ast.unparse(node.func.value) for node in ast.walk(forward(answers[name]["source"]))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)}
    lines = answers[name]["plan"].splitlines()
    assert {line.split(":")[0] for line in lines} == launched and launched
    assert all("warps" in line and "stages" in line for line in lines)


def test_nothing_that_is_assigned_goes_unread(answers):
    for name in TASKS:
        for function in functions(answers[name]["source"]):
            names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
            read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
            assigned = {line.targets[0].id for line in ast.walk(function)
                        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)}
            assert assigned <= read, f"{name}: {assigned - read}"


def test_results_have_the_functions_structure(answers):
    returned = forward(answers["several"]["source"]).body[-1].value
    assert isinstance(returned, ast.Tuple)
    first, second, third = (each.id for each in returned.elts)
    assert second == "a0" and len({first, second, third}) == 3
    assert len(forward(answers["one of several"]["source"]).body[-1].value.elts) == 1
    assert isinstance(forward(answers["pointwise"]["source"]).body[-1].value, ast.Name)


@pytest.mark.parametrize("name", TASKS)
def test_sizes_go_to_the_parameters_that_have_their_names(answers, name):
    """A kernel says its sizes itself, too: what it is launched with is the same."""
    source = answers[name]["source"]
    kernels = {function.name: function for function in functions(source)}
    for node in ast.walk(forward(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)):
            continue
        kernel = kernels[ast.unparse(node.func.value)]
        own = {line.targets[0].id: line.value.value for line in kernel.body
               if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)}
        given = dict(zip((each.arg for each in kernel.args.args), node.args))
        given |= {word.arg: word.value for word in node.keywords}
        assert {each.arg for each in kernel.args.args} <= set(given)
        for parameter in {each.arg for each in kernel.args.args} & set(own):
            assert given[parameter].value == own[parameter], (parameter, ast.unparse(node))


def test_what_is_no_candidate_says_why(answers):
    assert answers["of data"]["fault"].startswith("Inductor's text has `if ")
    assert "a1" in answers["broken"]["fault"]
    assert "SyntaxError" in answers["no python"]["fault"]


WRAPPER = """
async_compile.wait(globals())
def call(args):
    a, = args
    args.clear()
    %s
    return (b, )
"""


@pytest.mark.parametrize("line, why", [
    ("b = extern_kernels.sort_of(a)", "extern_kernels.sort_of"),
    ("b = _tensor_constant0", "_tensor_constant0"),
    ("while a: b = a", "while a"),
    ("b = cpp_fused_relu(a)", "cpp_fused_relu"),
    ("k.run(a, stream=s); b = a", "k.run"),
])
def test_a_wrapper_that_is_not_understood_is_refused(line, why):
    import inductor_source
    written = inductor_source.Written(WRAPPER % line, ["a0"], ["{0}"])
    with pytest.raises(inductor_source.NotUnderstood, match=why.replace(".", "[.]")):
        inductor_source.candidate(written, ["a0"])
