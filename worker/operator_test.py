"""The `adapt` job: a file with an operator and a test of it in, a model file out.

TritonBench-T has its tasks so: a PyTorch function, and below it functions `test...` that call it. The
calls that these make become the model: `forward` makes all of them, in their order, on the tensors
that they were made with, which get_inputs() has the tests make anew; other arguments stand in the text
as they were. What the tests make of the results is left out.
"""

import ast
import math

import torch

from loading import UserFile, parse, source_lines
from recorder import Recording
from refusal import Refused

_MOST_CALLS = 256
_NOTE = "What follows was added: the calls that %s makes of %s, as a model."

# Runs the tests with the operator replaced by one that notes what it is called with. It is called
# with copies, so that it changes nothing that it is given.
_CALLS = '''

# {note}
import torch


def _calls_of_tests():
    """The tensors that {operator} is called with, each once, and the arguments of each call."""
    global {operator}
    _operator, _tensors, _calls = {operator}, [], []

    def _copied(value):
        if isinstance(value, torch.Tensor):
            if not any(value is known for known in _tensors):
                _tensors.append(value)
            return value.detach().clone()
        if type(value) in (list, tuple):
            return type(value)(_copied(item) for item in value)
        if type(value) is dict:
            return {{key: _copied(item) for key, item in value.items()}}
        return value

    def _noted(*args, **kwargs):
        if len(_calls) == {most}:
            raise RuntimeError("a model of more than {most} calls is asked for")
        result = _operator(*_copied(args), **_copied(kwargs))
        _calls.append((args, kwargs))
        return result

    {operator} = _noted
    try:
{tests}
    finally:
        {operator} = _operator
    return _tensors, _calls


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
                          tests="".join("        %s()\n" % test for test in tests).rstrip())
    recording = Recording({**request, "source": text, "harness": None})
    with recording.installed():
        recording.recorder.start("inputs")
        recording.user("the file", recording.file.execute)
        tensors, calls = recording.user("the test", recording.file.get("_calls_of_tests"))
        written = _calls(operator, tensors, calls, recording.file)
    if not tensors:
        raise Refused("unsupported", "no test calls %s with a tensor" % operator, name, None)
    arguments = ", ".join("a%d" % k for k in range(len(tensors)))
    model = _MODEL.format(arguments=arguments,
                          calls="\n".join("            %s," % call for call in written))
    return {"status": "ok", "model": text + model}


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
    # Of several that tests call, such as helpers that make tensors, the one that the file is named
    # after, else the first: tests stand below what they test.
    operator = stem if stem in operators else operators[0]
    return operator, [test for test in tests if operator in called[test]]


def _without_runs(source, tree, tests):
    """The source without statements of the module that call its tests, or use what came of that."""
    lines, gone = source_lines(source), set(tests)
    for node in tree.body:
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) or \
                not any(part.id in gone for part in names):
            continue
        gone |= {part.id for part in names if isinstance(part.ctx, ast.Store)}
        for line in range(node.lineno - 1, node.end_lineno):
            lines[line] = "\n"
    return "".join(lines).rstrip() + "\n"


def _calls(operator, tensors, calls, file):
    names = {id(tensor): "a%d" % k for k, tensor in enumerate(tensors)}

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
