"""Candidates by torch.compile: the task "candidate" of compile_server.py. A text is compiled and called
once, and what Inductor wrote for it becomes a module (inductor_source.py).

    {"task": "candidate", "out": PATH, "text": a function `forward` of a0, a1, ...,
     "inputs": [{"dtype": "float32", "shape": [2, 3], "strides": [3, 1], "offset": 0}, ...]}

PATH gets {"plan", "source", "fault"} in JSON; the fault says in one line why there is no candidate in what
Inductor wrote, else it is empty.

A task's text (task_text() in src/policy/prompt.h) is written from a recorded program. A recording is hostile,
so its text is checked before it is run: one function, which calls operators of PyTorch's and methods of its
own values. On a CPU, Inductor writes the same kind of text, but
nothing is launched: each kernel stands in the first configuration that would be tried.
"""

import ast
import contextlib
import json
import os
from pathlib import Path

from inductor_source import Launch, NotUnderstood, Written, candidate

_OPTIONS = {
    # One name for each tensor.
    "allow_buffer_reuse": False, "inplace_buffers": False,
    "size_asserts": False, "alignment_asserts": False, "assert_indirect_indexing": False,
    "cpp_wrapper": False, "triton.cudagraphs": False, "graph_partition": False,
}


# Products and convolutions by Triton too, not by libraries, where there are templates.
# Other kernels are tuned as torch.compile does by itself: max_autotune tries many more
# configurations of each, and compiling those is what all of this takes its time for.
_BY_TRITON = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON",
              "max_autotune_conv_backends": "TRITON"}
_BY_LIBRARIES = {"max_autotune_gemm": True, "max_autotune_conv_backends": "ATEN,TRITON"}


def prepare(device):
    """Before torch is imported."""
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"  # or Triton looks for a GPU's driver


def write(request, device):
    import torch
    answer = {"plan": "", "source": "", "fault": ""}
    try:
        scope = {"torch": torch}
        text = request["text"].replace('"cuda"', f'"{device}"')
        check(text)
        exec(compile(text, "<task>", "exec"), scope)
        tensors = [_tensor(each, device) for each in request["inputs"]]
        written = _compiled(scope["forward"], request["text"], tensors, device)
        names = [f"a{i}" for i in range(len(tensors))]
        answer["plan"], answer["source"] = candidate(written, names)
    except NotUnderstood as error:
        answer["fault"] = str(error)
    except Exception as error:  # of torch.compile's own, which begin with what matters
        said = " ".join(str(error).split())
        answer["fault"] = f"torch.compile: {type(error).__name__}: {said[:400]}"
    Path(request["out"]).write_text(json.dumps(answer))


# Where operators are called from; a module that torch happens to import is none of them.
_MODULES = ("torch", "torch.nn", "torch.nn.functional", "torch.ops", "torch.linalg", "torch.special", "torch.fft")
_STATEMENTS = (ast.Assign, ast.Expr, ast.Return)
_PARTS = (ast.Call, ast.keyword, ast.Attribute, ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.UnaryOp,
          ast.USub, ast.Starred, ast.expr_context)


def check(text):
    """NotUnderstood where a text is anything but one function of operator calls."""
    module = ast.parse(text)
    if len(module.body) != 1 or not isinstance(module.body[0], ast.FunctionDef):
        raise NotUnderstood("a task's text is one function")
    (function,) = module.body
    arguments = function.args
    if (function.decorator_list or function.returns or arguments.defaults or arguments.kw_defaults
            or any(each.annotation for each in arguments.args)):
        raise NotUnderstood("a task's function has arguments without defaults, and nothing else")
    for statement in function.body:
        if not isinstance(statement, _STATEMENTS):
            raise NotUnderstood(f"a task's text has `{ast.unparse(statement).splitlines()[0]}`")
        for node in ast.walk(statement):
            if node is not statement and not isinstance(node, _PARTS):
                raise NotUnderstood(f"a task's text has {type(node).__name__}")
            if isinstance(node, ast.Attribute):
                _check_attribute(node)
            if isinstance(node, ast.Call) and not isinstance(node.func, ast.Attribute):
                if ast.unparse(node.func) != "float":  # float("inf")
                    raise NotUnderstood(f"a task's text calls {ast.unparse(node.func)}")
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == "torch":
                raise NotUnderstood("a task's text has a value called torch")


def _check_attribute(node):
    import torch
    name = ast.unparse(node)
    if any(part.startswith("__") for part in name.split(".")):
        raise NotUnderstood(f"a task's text has {name}")
    if not name.startswith("torch.") or name == "torch.ops.aten" or name.startswith("torch.ops.aten."):
        return
    owner, _, member = name.rpartition(".")
    if owner not in _MODULES:
        raise NotUnderstood(f"a task's text has {name}")
    value = torch
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    if name in _MODULES or isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return
    origin = getattr(value, "__module__", None)
    if not callable(value) or not (type(value).__name__ == "builtin_function_or_method"
                                   or origin in ("torch.functional", "torch.nn.functional", "torch._jit_internal")):
        raise NotUnderstood(f"a task's text has {name}, which is no operator")


def _tensor(told, device):
    """Values are of no account, but indices lie inside of whatever they index."""
    import torch
    extent = 1 + sum((size - 1) * step for size, step in zip(told["shape"], told["strides"]))
    extent = told["offset"] + (extent if 0 not in told["shape"] else 0)
    dtype = getattr(torch, told["dtype"])
    memory = torch.zeros(extent, dtype=dtype, device=device)
    if dtype.is_floating_point:
        memory.uniform_(0.5, 1)
    return memory.as_strided(told["shape"], told["strides"], told["offset"])


def _compiled(function, text, tensors, device):
    import torch
    if device == "cpu":
        calls, result = _called(function, tensors, {}, device)
    else:
        try:
            calls, result = _called(function, tensors, _BY_TRITON, device)
        except torch._inductor.exc.InductorError as error:
            if "NoValidChoices" not in str(error):
                raise
            calls, result = _called(function, tensors, _BY_LIBRARIES, device)
    if len(calls) != 1:
        raise NotUnderstood(f"Inductor made {len(calls)} graphs of it")
    code, inputs, outputs, launches = calls[0]
    arguments = []
    for each in inputs:
        names = [f"a{i}" for i, tensor in enumerate(tensors)
                 if isinstance(each, torch.Tensor) and _place(tensor) == _place(each)]
        if not names:
            raise NotUnderstood("the graph takes what is no argument of the function")
        arguments.append(names[0])
    leaves, shape = [], ast.parse(text).body[-1].body[-1].value
    pattern = _pattern(shape, result, leaves)
    return Written(code, arguments, [_found(leaf, outputs, tensors) for leaf in leaves], launches,
                   pattern)


def _called(function, tensors, options, device):
    import torch
    import torch._inductor.config as config
    known = set(config.get_config_copy())
    options = {name: value for name, value in {**_OPTIONS, **options}.items() if name in known}
    calls = []
    with _watched(calls, device), torch.no_grad():
        torch._dynamo.reset()
        compiled = torch.compile(function, dynamic=False, fullgraph=True, options=options)
        result = compiled(*tensors)
    return calls, result


@contextlib.contextmanager
def _watched(calls, device):
    """Notes what is called: of each graph its text, arguments and results, and what it launches."""
    import torch._inductor.config as config
    import torch.utils._triton
    from torch._inductor.output_code import CompiledFxGraph
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    call, run = CompiledFxGraph.__call__, CachingAutotuner.run
    launches = None  # of the graph that is being called

    def noted_call(graph, inputs):
        nonlocal launches
        launches, given = [], list(inputs)
        try:
            outputs = call(graph, inputs)
            calls.append((graph.source_code, given, list(outputs), launches))
            return outputs
        finally:
            launches = None

    def noted_run(tuner, *args, **kwargs):
        if device == "cuda":
            run(tuner, *args, **kwargs)
        if launches is not None:
            launches.append(_launch(tuner, args))

    patches = [(CompiledFxGraph, "__call__", noted_call), (CachingAutotuner, "run", noted_run)]
    if device == "cpu":
        patches += [(config, "cpu_backend", "triton"),
                    (torch.utils._triton, "triton_hash_with_backend", lambda: "none")]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    for owner, name, value in patches:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _launch(tuner, args):
    config = tuner.launchers[0].config if tuner.launchers else tuner.configs[0]
    _, grid = tuner._interpret_args_grid(args, config)
    signature = tuner.triton_meta["signature"]
    constants = {name: value for name, value in tuner.triton_meta["constants"].items()
                 if isinstance(name, str)}
    constants.update(config.kwargs)
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    return Launch(tuner.fn.__name__, grid, constants, options,
                  [name for name, kind in signature.items() if kind != "constexpr"])


def _place(tensor):
    return (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride())


def _pattern(shape, value, leaves):
    """The result's expression with {} for each tensor; those are added to `leaves`."""
    import torch
    if isinstance(value, torch.Tensor):
        leaves.append(value)
        return "{}"
    if isinstance(value, tuple):
        inner = [_pattern(each, one, leaves) for each, one in zip(shape.elts, value)]
        return "(" + ", ".join(inner) + ("," if len(inner) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(_pattern(*both, leaves) for both in zip(shape.elts, value)) + "]"
    if isinstance(value, dict):
        inner = [f"{key!r}: {_pattern(each, one, leaves)}"
                 for each, (key, one) in zip(shape.values, value.items())]
        return "{{" + ", ".join(inner) + "}}"
    return repr(value).replace("{", "{{").replace("}", "}}")


def _found(leaf, outputs, tensors):
    """A tensor of the result as an expression of the graph's outputs and the function's arguments."""
    import torch
    own = [("{%d}" % i, each) for i, each in enumerate(outputs) if isinstance(each, torch.Tensor)]
    own += [(f"a{i}", each) for i, each in enumerate(tensors)]
    for name, each in own:
        if _place(each) == _place(leaf):
            return name
    for name, each in own:
        if each.dtype == leaf.dtype and _memory(each) == _memory(leaf):
            return (f"torch.as_strided({name}, {tuple(leaf.shape)}, {leaf.stride()}, "
                    f"{leaf.storage_offset()})")
    raise NotUnderstood("a tensor of the result is none of the graph's")


def _memory(tensor):
    return tensor.untyped_storage().data_ptr()
