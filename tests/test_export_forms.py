"""The writer of optimized.py is a boundary: a hostile Task is refused, or gives listed forms alone."""

import ast

import pytest

import export_forms
from export_forms import Forged, check, checked, exports_of

COUNT = 2000  # mutations; `python tests/export_forms.py COUNT` takes more


@pytest.fixture(scope="module")
def exports():
    """Of the seeds alone."""
    return list(exports_of(0, variants=False))


def test_the_seeds_have_every_form(exports):
    assert checked(exports) == (len(exports), 0)
    text = "\n".join(python for _, python in exports)
    for form in ("_kw_slice_1()", "_kw_descriptors.", "_kw_derived", "_kw_laid_out(", "getattr(self",
                 "_is_alias_of", "torch.ops.", "torch.tensor(", "num_warps=", "_kw_triton.language."):
        assert form in text, form


def test_hostile_tasks_are_refused_or_give_listed_forms():
    good, broken = checked(exports_of(COUNT))
    assert good > 100 and broken < good


# What may stand nowhere outside of a kernel: a statement, or an expression in the place of a part.
STATEMENTS = ["import os", "from os import system", "print(1)", "x = 1", "del torch", "exec('x')",
              "__import__('os')", "torch = None", "if True: pass", "pass", "lambda: 1", "'text'",
              "def f(): pass", "class A: pass", "@f\ndef g(): pass", "assert f()", "return t0",
              "self.x = 1", "t0 = self.f(args)", "t0 = torch.load('x')", "tl = 1",
              "t0 = torch.ops.load_library('x')"]
PARTS = {"device=_kw_device": ["device=print(1)", "device=f'{x}'", "device=_kw_device, out=open('x')",
                               "device=torch.load"],
         "num_warps=8": ["num_warps=f()", "num_warps='8'", "debug=True", "num_warps=True", "**f()"],
         ", (2, 1, 1), dict(": [", f(1, 1), dict(", ", (2, f(), 1), dict(", ", f, dict("],
         "ModelNew(Model)": ["ModelNew(Model, metaclass=f)", "ModelNew(f())", "Other(Model)"],
         "Out(": ["exec(", "os.system(", "__import__(", "_kw_misfit("],
         "torch.conv2d(": ["torch.load(", "torch.hub.load(", "self.f(", "t0.numpy(", "eval("],
         ", act, (": [", f(), (", ", torch, (", ", (lambda: 1), ("],
         "dict(ACT=_kw_1_act": ["dict(ACT=f()", "dict(ACT=torch", "dict(act=_kw_1_act", "f(ACT=_kw_1_act"],
         "_kw_launch_0(where, ": ["_kw_launch_0(f(), ", "_kw_launch_99(where, ", "print(where, "],
         "_kw_launch_0 = _kw_Launch(": ["_kw_launch_0 = f(", "launch = _kw_Launch("],
         "_kw_Bound.call(self, (p0, ": ["_kw_Bound.call(self, (f(), ", "_kw_Bound.call(self, (p1, ", "f(self, (p0, "],
         "bound.known(self": ["bound.known(f()", "f(self"],
         "call.run(self, ": ["call.run(f, ", "f(self, ", "call.run(self, f(), "],
         "    @staticmethod\n": ["    @f\n", ""],
         "        if wanted:\n": ["        if f():\n", "        if True:\n"],
         "_kw_host = _kw_found_host()": ["_kw_host = f()", "_kw_host = _kw_found_host(f())"],
         "._version for": [".shape for"],
         "[2, 4])": ["[2, f()])", "f())"],
         "flag=float('inf')": ["flag=f()", "flag=float(f())"],
         "KIND: tl.constexpr": ["KIND: f()"],
         "EPS = tl.constexpr(2)": ["EPS = tl.constexpr(f())", "EPS = f()", "import os"],
         "import triton.language as tl": ["import os as tl", "from triton import knobs",
                                          "import triton.language as torch"],
         "tensor.dtype == dtype": ["tensor.dtype != dtype", "True"],
         "key = object()": ["key = f()"],
         "self.fc.weight": ["self.fc.weight()", "self.__class__", "torch.weight", "getattr(self, f())"],
         "args[0][\"x\"]": ["args[0][f()]", "args[0].x", "f(args[0])"],
         "= _kw_placed(args, kwargs, (": ["= f(args, kwargs, (", "= _kw_placed(args, f(), (",
                                         "= _kw_placed(args, kwargs, (f(), "],
         "args, kwargs = _kw_placed": ["args, self.f = _kw_placed", "args, torch = _kw_placed"],
         "kwargs or": ["kwargs or f() or", "self.f or"],
         "(4, 4), (4, 1)": ["(4, 4), (4, f())"],
         "_kw_interpreted = ": ["_kw_interpreted = f() or "]}


def forms(exports):
    return next(export for export in exports if "_kw_slice_1" in export[1])


def test_a_forged_statement_is_found_wherever_it_is(exports):
    """Before each statement that is no part of a kernel: a quarter of them each."""
    reference, python = forms(exports)
    lines = python.split("\n")
    kernels = [(node.lineno - 1, node.end_lineno) for node in ast.walk(ast.parse(python))
               if isinstance(node, ast.FunctionDef) and export_forms.is_kernel(node)]
    places = sorted({(node.lineno - 1, node.col_offset) for node in ast.walk(ast.parse(python))
                     if isinstance(node, ast.stmt)
                     and node.lineno > reference.count("\n") + 1
                     and not any(begin <= node.lineno - 1 < end for begin, end in kernels)})
    assert len(places) > 50
    tried = 0
    for number, (line, column) in enumerate(places):
        for statement in STATEMENTS[number % 4::4]:
            inserted = [" " * column + part for part in statement.split("\n")]
            text = "\n".join(lines[:line] + inserted + lines[line:])
            try:
                ast.parse(text)
            except SyntaxError:
                continue
            tried += 1
            with pytest.raises(Forged):
                check(reference, text)
    assert tried > 150


@pytest.mark.parametrize("part", PARTS)
def test_a_forged_part_is_found(exports, part):
    reference, python = forms(exports)
    assert part in python
    for forged in PARTS[part]:
        text = python.replace(part, forged)
        ast.parse(text)
        with pytest.raises(Forged):
            check(reference, text)


def test_what_is_no_python_is_found(exports):
    reference, python = forms(exports)
    with pytest.raises(Forged):
        check(reference, python + "        (\n")
    with pytest.raises(SyntaxError):  # in a kernel: nothing of it runs
        check(reference, python.replace("return x + EPS", "return return"))
