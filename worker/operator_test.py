"""The `adapt` job: a file with an operator and a test of it in, a model file out.

TritonBench-T has tasks of this form: a PyTorch function, and below it functions `test...` that call it.
Their calls become the model: `forward` makes all of them, in their order, on the same tensors.
get_inputs() runs the tests again for these tensors. Other arguments are in the text as they were. What
the tests do with the results is left out.
"""

import ast
import math

import torch

from loading import parse, source_lines
from recorder import Recording
from refusal import Refused

_MOST_CALLS = 256
_NOTE = "What follows was added: the calls that %s makes of %s, as a model."

# Runs the tests with the operator replaced by one that notes what it is called with, as it is then: what
# is changed later, by the operator too, counts as another tensor. What the operator calls itself is its
# own. Python's random numbers are the same each time, as the recorder's tensors are.
_CALLS = '''

# {note}
import random as _random

import torch

try:
    _own_get_inputs = get_inputs
except NameError:
    _own_get_inputs = None


def _calls_of_tests():
    """The tensors that {operator} is called with, each once, and the arguments of each call."""
    global {operator}, get_inputs
    _operator, _get_inputs, _seen, _calls = {operator}, get_inputs, [], []

    def _noted(value):
        if isinstance(value, torch.Tensor):
            version = None if value.is_inference() else value._version
            for known, its_version, copy in _seen:
                if known is value and its_version == version:
                    return copy
            _seen.append((value, version, value.detach().clone()))
            return _seen[-1][2]
        if type(value) in (list, tuple):
            return type(value)(_noted(item) for item in value)
        if type(value) is dict:
            return {{key: _noted(item) for key, item in value.items()}}
        return value

    def _noting(*args, **kwargs):
        global {operator}
        if len(_calls) == {most}:
            raise RuntimeError("a model of more than {most} calls is asked for")
        _calls.append((_noted(args), _noted(kwargs)))
        {operator} = _operator
        try:
            return _operator(*args, **kwargs)
        finally:
            {operator} = _noting

    _random.seed(0)
    {operator}, get_inputs = _noting, _own_get_inputs
    try:
        with torch.no_grad():
{tests}
    finally:
        {operator}, get_inputs = _operator, _get_inputs
    return [copy for _, _, copy in _seen], _calls


def get_inputs():
    return _calls_of_tests()[0]


def get_init_inputs():
    return []
'''

_MODEL = '''

class Model(torch.nn.Module):
    def forward(self, {arguments}):
        return (
{calls}
        )
'''


def adapt(request):
    """The reply to an adapt request, or Refused."""
    name = request.get("file") or "test.py"
    tree = parse(request["source"], name)
    operator, tests = _names(tree, name)
    text = _without_runs(request["source"], tree, tests)
    text += _CALLS.format(note=_NOTE % (" and ".join(tests), operator), operator=operator, most=_MOST_CALLS,
                          tests="".join("            %s()\n" % test for test in tests).rstrip())
    recording = Recording({**request, "source": text, "harness": None})
    with recording.installed():
        recording.recorder.start("inputs")
        recording.user("the file", recording.file.execute)
        tensors, calls = recording.user("the test", recording.file.get("_calls_of_tests"))
        names = _argument_names(len(tensors), recording.file)
        written = _calls(operator, dict(zip(map(id, tensors), names)), calls, recording.file)
    if not tensors:
        raise Refused("unsupported", "no test calls %s with a tensor" % operator, name, None)
    model = _MODEL.format(arguments=", ".join(names),
                          calls="\n".join("            %s," % call for call in written))
    return {"status": "ok", "model": text + model, "operator": operator,
            "candidate": "import torch\n" + model.replace("class Model(", "class ModelNew(", 1)}


def _names(tree, file):
    """The operator's name and the tests', which call it."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    tests = [name for name in functions if name.startswith("test")]
    others = [name for name in functions if name not in tests]
    called = {name: {node.func.id for node in ast.walk(functions[name])
                     if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
              for name in tests}
    operators = [name for name in others if any(name in called[test] for test in tests)]
    if not operators:
        raise Refused("missing", "the file defines no Model, and no function test... that calls "
                      "another of its functions", file, None)
    stem = file.rpartition("/")[2].partition(".")[0]
    named = [name for name in operators if name == stem] or [
        name for name in operators if any(test == "test_" + name for test in tests)]
    if len(named or operators) > 1:
        raise Refused("missing", "tests call %s: a file that is named after one of them says which is the "
                      "operator, or a test, such as test_%s" % (" and ".join(operators), operators[0]),
                      file, None)
    (operator,) = named or operators
    return operator, [test for test in tests if operator in called[test]]


_BLOCKS = ("body", "orelse", "finalbody", "handlers")


def _without_runs(source, tree, tests):
    """The source with `pass` in the place of statements of the module that call its tests, or a function
    that does, or use what came of that."""
    lines, gone = [line.encode() for line in source_lines(source)], set(tests)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _loads(node) & gone:
            gone.add(node.name)
    removed = []

    def look(statements):
        for node in statements:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            inner = [getattr(node, block) for block in _BLOCKS if getattr(node, block, None)]
            head = [child for name, child in ast.iter_fields(node) if name not in _BLOCKS]
            loads = set().union(*(_loads(part) for child in head
                                  for part in (child if isinstance(child, list) else [child])
                                  if isinstance(part, ast.AST)))
            stores = {part.id for part in ast.walk(node)
                      if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
            if loads & gone:
                removed.append(node)
                gone.update(stores)
            elif not inner:
                gone.difference_update(stores - set(tests))
            for block in inner if not loads & gone else ():
                look(block)

    look(tree.body)
    for node in sorted(removed, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        first, last = node.lineno - 1, node.end_lineno - 1
        rest = lines[last][node.end_col_offset:]
        lines[first] = lines[first][:node.col_offset] + b"pass" + rest
        lines[first + 1:last + 1] = [b"\n"] * (last - first)
    return b"".join(lines).decode().rstrip() + "\n"


def _loads(node):
    return {part.id for part in ast.walk(node)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}


def _argument_names(count, file):
    """a0, a1, ..., but for what the file has names for."""
    prefix = "a"
    while any("%s%d" % (prefix, k) in file.module.__dict__ for k in range(count)):
        prefix += "_"
    return ["%s%d" % (prefix, k) for k in range(count)]


def _calls(operator, names, calls, file):
    """The text of each call; `names` of tensors by their id()."""

    def literal(value):
        kind = type(value)
        if isinstance(value, torch.Tensor):
            return names[id(value)]
        if kind is float and not math.isfinite(value):
            return "float(%r)" % str(value)
        if value is None or kind in (bool, int, float, str):
            return repr(value)
        if kind in (torch.dtype, torch.layout, torch.memory_format):
            return str(value)
        if kind is torch.device:
            return "torch.device(%r)" % str(value)
        if kind is torch.Size:
            return literal(tuple(value))
        if kind is list:
            return "[%s]" % ", ".join(map(literal, value))
        if kind is tuple:
            return "(%s)" % "".join(literal(item) + ", " for item in value).rstrip()
        if kind is dict and all(type(key) is str for key in value):
            return "{%s}" % ", ".join("%r: %s" % (k, literal(v)) for k, v in value.items())
        raise Refused("unsupported", "a test calls %s with a %s" % (operator, kind.__name__),
                      file.name, None)

    return ["%s(%s)" % (operator, ", ".join(
        [*map(literal, args), *("%s=%s" % (key, literal(v)) for key, v in kwargs.items())]))
        for args, kwargs in calls]
