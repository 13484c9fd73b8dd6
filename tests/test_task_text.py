"""What models read of a task: Python that computes what the model computes."""

import ast
import json
import os
import re
import subprocess

import pytest
import torch

import teacher_convolutions
import teacher_copies
import teacher_oracle as oracle
import teacher_products
import teacher_rows
from test_teacher import EMIT

FRAGMENTS = (oracle.fixed_fragments() + teacher_rows.fragments() + teacher_products.fragments() +
             teacher_copies.fixed_fragments() + teacher_convolutions.fixed_fragments())
FIRST = 41


class Writer:
    """The tool that prints task_text(): one task a line in, its text out."""

    def __init__(self):
        self.process = subprocess.Popen([EMIT, "--text", str(FIRST)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def text(self, task):
        self.process.stdin.write(json.dumps(oracle.as_fragment(task)) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope="module")
def tools():
    assert os.path.exists(EMIT), "%s is not built" % EMIT
    oracle.prepare()
    return oracle.Teacher(EMIT, 0).operators, Writer()


def arguments_match(function, text, tensors):
    names = [arg.arg for arg in function.args.args]
    assert names == ["a%d" % k for k in range(len(tensors))]
    for name, tensor in zip(names, tensors):
        dtype, shape, strides = re.search(
            r"^    %s,  # (\w+) (\(.*?\))(?: strides (\(.*?\)))?" % name, text, re.M).groups()
        assert getattr(torch, dtype) == tensor.dtype and ast.literal_eval(shape) == tensor.shape
        if strides:
            assert ast.literal_eval(strides) == tensor.stride()
        else:
            assert tensor.is_contiguous()


def values_are_numbered(function):
    """t41, t42, ... in the order in which they are made, and none other."""
    made = [node.id for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id != "_"]
    made = sorted(made, key=lambda name: int(name[1:]))
    assert made == ["t%d" % (FIRST + k) for k in range(len(made))]


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda f: f.name)
def test_the_text_computes_what_the_model_computes(fragment, tools):
    operators, writer = tools
    generator = torch.Generator().manual_seed(3)
    tensors = [spec.make(generator) for spec in fragment.inputs]
    try:
        task = oracle.record(fragment.source(), "Model", tensors, operators)["task"]
    except oracle.Unrecordable:
        return
    text = writer.text(task)
    assert text == writer.text(task)
    [function] = ast.parse(text).body
    arguments_match(function, text, tensors)
    values_are_numbered(function)
    scope = {"torch": torch}
    exec(text.replace('"cuda"', '"cpu"'), scope)
    got = scope["forward"](*oracle.copied(tensors))
    expected = oracle.run_model(fragment.source(), oracle.copied(tensors))
    assert oracle.structure(got) == oracle.structure(expected)
    for a, b in zip(oracle.flatten(got), oracle.flatten(expected)):
        torch.testing.assert_close(a, b, equal_nan=True)
