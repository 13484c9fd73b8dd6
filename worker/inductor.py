"""Candidates by torch.compile: the task "candidate" of compile_server.py. A text is compiled and called
once, and what Inductor wrote for it becomes a module (inductor_source.py).

    {"task": "candidate", "out": PATH, "text": a function `forward` of a0, a1, ...,
     "calls": what it calls: ["torch.relu", ".view"],
     "inputs": [{"dtype": "float32", "shape": [2, 3], "strides": [3, 1], "offset": 0}, ...]}

PATH gets {"plan", "source", "fault"} in JSON. The fault says in one line why there is no candidate in what
Inductor wrote. It is empty if there is one.

A task's text (task_text() in src/policy/chat/prompt.h) is written from a recorded program. A recording is hostile,
so its text is run only if it is one function that calls the program's operators, and nothing else. On a CPU,
Inductor writes the same kind of text, but nothing is launched. So each kernel has the first configuration that
would be tried.
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
        _Check(request["calls"]).text(text)
        exec(compile(text, "<task>", "exec"), scope)
        tensors = [_tensor(each, device) for each in request["inputs"]]
        written = _compiled(scope["forward"], tensors, device)
        names = [f"a{i}" for i in range(len(tensors))]
        answer["plan"], answer["source"] = candidate(written, names)
    except NotUnderstood as error:
        answer["fault"] = str(error)
    except Exception as error:  # of torch.compile's own, which begin with what matters
        said = " ".join(str(error).split())
        if "out of memory" in said:  # says nothing of what Inductor writes, so there is no answer
            raise
        answer["fault"] = f"torch.compile: {type(error).__name__}: {said[:400]}"
    Path(request["out"]).write_text(json.dumps(answer))


class _Check(ast.NodeVisitor):
    """NotUnderstood where a text is anything but one function of the calls that it is known to make."""

    _PARTS = (ast.Assign, ast.Expr, ast.Return, ast.Name, ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.USub,
              ast.keyword, ast.expr_context)

    def __init__(self, calls):
        self.calls = {*calls, "float"}  # float("inf")

    def text(self, text):
        body = ast.parse(text).body
        if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
            raise NotUnderstood("a task's text is one function")
        (function,) = body
        names = ast.arguments([], [ast.arg(each.arg) for each in function.args.args], None, [], [], None, [])
        if function.decorator_list or function.returns or ast.dump(function.args) != ast.dump(names):
            raise NotUnderstood("a task's function has names of arguments, and nothing else")
        for statement in function.body:
            self.visit(statement)

    def generic_visit(self, node):
        if not isinstance(node, self._PARTS):
            raise NotUnderstood(f"a task's text has `{ast.unparse(node).splitlines()[0]}`")
        super().generic_visit(node)

    def visit_Name(self, node):
        if node.id == "torch":  # by another name it could be anything
            raise NotUnderstood("a task's text has torch for a value")

    def visit_Attribute(self, node):
        """Takes a dtype, a layout or a memory format. Other attributes are only called."""
        import torch
        owner, _, member = ast.unparse(node).rpartition(".")
        if owner != "torch" or not isinstance(getattr(torch, member, None),
                                              (torch.dtype, torch.layout, torch.memory_format)):
            raise NotUnderstood(f"a task's text has {ast.unparse(node)}")

    def visit_Call(self, node):
        called = ast.unparse(node.func)
        if called not in self.calls:
            is_method = isinstance(node.func, ast.Attribute) and f".{node.func.attr}" in self.calls
            if not is_method:
                raise NotUnderstood(f"a task's text calls {called}")
            self.visit(node.func.value)
        for each in (*node.args, *node.keywords):
            self.visit(each)


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


def _compiled(function, tensors, device):
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
    results = result if isinstance(result, tuple) else (result,)
    return Written(code, arguments, [_found(each, outputs, tensors) for each in results], launches,
                   isinstance(result, tuple))


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
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    return Launch(tuner.fn.__name__, grid, dict(config.kwargs), options)


def _place(tensor):
    return (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride())


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
