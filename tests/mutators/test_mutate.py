"""The mutators on a kernel that has something for each of them."""

import ast

import mutate

TEXT = '''import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def norm(x_ptr, y_ptr, z_ptr, n_rows, n_cols, x_stride, BLOCK_M: tl.constexpr,
         BLOCK_N: tl.constexpr):
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    part = tl.program_id(1)
    row_mask = rows < n_rows
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, n_cols, BLOCK_N):
        cols = (start + tl.arange(0, BLOCK_N))[None, :]
        x = tl.load(x_ptr + rows * x_stride + cols, mask=row_mask & (cols < n_cols), other=0.0)
        acc = acc + tl.where(cols < n_cols, x * 0.5, 0.0)
    total = tl.sum(acc, axis=1, keep_dims=True)
    acc = tl.dot(acc, acc, acc, input_precision="tf32x3")
    tl.store(y_ptr + rows + part * 2, total / 3.0, mask=row_mask)
    tl.store(z_ptr + rows + part, tl.exp(-total), mask=row_mask)


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty(10, device="cuda")
        z = torch.empty(10, device="cuda")
        norm[(3, 1, 1)](x, y, z, 10, 99, 99, BLOCK_M=4, BLOCK_N=32)
        z = torch.relu(y)
        return y, z
'''


def by_mutator(text=TEXT):
    out = {}
    for mutant in mutate.mutants(text):
        out.setdefault(mutant.mutator, []).append(mutant)
    return out


def test_every_mutator_finds_something():
    assert {name for name, _ in mutate.mutators()} == set(by_mutator())


def test_mutants_parse_and_differ_in_what_they_say():
    texts = set()
    for mutant in mutate.mutants(TEXT):
        ast.parse(mutant.text)
        texts.add(mutant.text)
        assert mutant.before != mutant.after
        assert mutant.text.count("\n") == TEXT.count("\n")
    assert TEXT not in texts and len(texts) == len(mutate.mutants(TEXT))


def test_mutants_are_the_same_each_time():
    assert mutate.mutants(TEXT) == mutate.mutants(TEXT)


def changed(mutator):
    return [m.after for m in by_mutator()[mutator]]


def test_some_mutants_word_for_word():
    assert "tl.store(y_ptr + rows + part * 2, total / 3.0)" in changed("drop-store-mask")
    assert "row_mask = rows < (n_rows) - 1" in changed("tighten-bound")
    assert "norm[(2, 1, 1)](x, y, z, 10, 99, 99, BLOCK_M=4, BLOCK_N=32)" in changed("shrink-grid")
    assert "norm[(3, 1, 1)](y, x, z, 10, 99, 99, BLOCK_M=4, BLOCK_N=32)" in changed("swap-arguments")
    assert "total = tl.max(acc, axis=1, keep_dims=True)" in changed("wrong-reduction")
    assert "for start in range(0, (n_cols) - (BLOCK_N), BLOCK_N):" in changed("drop-last-block")
    assert "return x, z" in changed("return-input")
    assert changed("halve-block") == [  # BLOCK_N is the step of a loop: its half is right too
        "norm[(3, 1, 1)](x, y, z, 10, 99, 99, BLOCK_M=2, BLOCK_N=32)"]


def test_names_nothing_of_the_program():
    """Renaming everything that a program may choose renames the mutants."""
    names = {"norm": "f", "rows": "r", "acc": "a", "BLOCK_M": "BM", "x_ptr": "px"}
    renamed = TEXT
    for old, new in names.items():
        renamed = renamed.replace(old, new)
    assert ([m.mutator for m in mutate.mutants(renamed)] ==
            [m.mutator for m in mutate.mutants(TEXT)])


def test_results_are_those_of_functions_that_launch():
    helped = TEXT + """
    def bind(self, x):
        return self
"""
    assert ([(m.mutator, m.line) for m in mutate.mutants(helped)] ==
            [(m.mutator, m.line) for m in mutate.mutants(TEXT)])


def test_objects_that_launch_are_spelled_as_launches():
    text = """x = 1
_kw_launch_0 = _kw_Launch(norm, (2, 1, 1), dict(N=4, BLOCK=8), dict(num_warps=2, BLOCK=8))


class ModelNew:
    def forward(self, é):
        _kw_launch_0(where, é, (1, 2), 7)
        return _kw_launch_0
"""
    spelled = mutate.spelled_launches(text)
    assert "        norm[2, 1, 1](é, (1, 2), 7, N=4, BLOCK=8, num_warps=2)\n" in spelled.replace("(2, 1, 1)]", "2, 1, 1]")
    assert mutate.spelled_launches(spelled) == spelled and spelled.count("\n") == text.count("\n")
