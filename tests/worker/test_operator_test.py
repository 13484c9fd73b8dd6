"""Models made of operators with tests: they give what the operator gave in the tests."""

import types

import pytest
import torch

import operator_test
import recorder
from refusal import Refused

HEAD = "import torch\n\n\n"


def adapted(text, file):
    return operator_test.adapt({"source": text, "file": file, "operators": recorder._Whole(),
                                "profile": {"arch": "sm_90", "sms": 132}})["model"]


def executed(text):
    module = types.ModuleType("executed")
    exec(compile(text.replace('"cuda"', '"cpu"'), "executed.py", "exec"), module.__dict__)
    return module.__dict__


def results_of_tests(text, operator, tests):
    """What the operator gives when the tests themselves call it; of calls from outside of it."""
    names = executed(text)
    given, function = [], names[operator]

    def noting(*args, **kwargs):
        names[operator] = function
        try:
            result = function(*args, **kwargs)
        finally:
            names[operator] = noting
        given.append(result.clone())
        return result

    names[operator] = noting
    torch.manual_seed(3)
    for test in tests:
        names[test]()
    return given


# name: (operator, tests, text)
FILES = {
    "an argument that is changed after its call": ("scale", ["test_scale"], """
def scale(x, by=2):
    return x * by

def test_scale():
    x = torch.randn(5, 4, device="cuda")
    scale(x)
    x.zero_()
    scale(x, by=3)
    scale(x + 1)
"""),
    "an operator in place": ("add_to", ["test_add_to"], """
def add_to(s, x):
    s.add_(x)
    return s * 1

def test_add_to():
    s = torch.zeros(6, device="cuda")
    x = torch.randn(6, device="cuda")
    add_to(s, x)
    t = s * 2
    add_to(t, x)
"""),
    "an operator that calls itself": ("power", ["test_power"], """
def power(x, n):
    return x if n == 0 else x * power(x, n - 1)

def test_power():
    power(torch.randn(3, 3, device="cuda"), 2)
"""),
    "a test that names its operator among others": ("second", ["test_second"], """
def first(x):
    return x + 1

def second(x):
    return x * 2

def test_second():
    x = first(torch.randn(4, device="cuda"))
    second(x)
    second(first(x))
"""),
    "a helper called get_inputs": ("double", ["test_double"], """
def double(x):
    return x * 2

def get_inputs():
    return torch.randn(7, device="cuda")

def test_double():
    double(get_inputs())
"""),
    "runs that stand beside what is needed": ("scaled", ["test_scaled"], """
def scaled(x):
    return x * SCALE * FACTOR * later

def test_scaled():
    return scaled(torch.randn(3, device="cuda"))

SCALE = 3; result = test_scaled() if "SCALE" in globals() and "later" in globals() else None; OTHER = 4
for later in range(3):
    print(result)
later = 7
try:
    FACTOR = 5
    if __name__ == "__main__":
        print("é", test_scaled(
        )); FACTOR = 6
finally:
    pass

def main():
    test_scaled()

if __name__ == "__main__":
    main()
"""),
    "names, keywords and lists": ("a0", ["test_a0"], """
def a0(parts, *, weight=None, mode="sum"):
    total = parts[0] + parts[1]
    return total if weight is None else total * weight + float(mode == "sum")

def test_a0():
    x = torch.randn(4, device="cuda")
    a0([x, x * 2])
    a0((x, x), weight=torch.randn(4, device="cuda"), mode="mean")
"""),
    "Python's random numbers": ("shifted", ["test_shifted"], """
import random

def shifted(x, by):
    return x + by

def test_shifted():
    random.seed(5)
    shifted(torch.randn(4, device="cuda"), random.random())
"""),
}


@pytest.mark.parametrize("name", FILES)
def test_a_model_gives_what_the_tests_got(name):
    operator, tests, text = FILES[name]
    text = HEAD + text
    wanted = results_of_tests(text, operator, tests)
    made = executed(adapted(text, "case.py"))
    torch.manual_seed(3)
    found = made["Model"]()(*[tensor.clone() for tensor in made["get_inputs"]()])
    assert len(found) == len(wanted) > 0
    assert all(map(torch.equal, found, wanted))


def test_the_same_text_makes_the_same_model():
    operator, tests, text = FILES["Python's random numbers"]
    text = HEAD + text.replace("    random.seed(5)\n", "")
    assert adapted(text, "case.py") == adapted(text, "case.py")


TWO = HEAD + """
def first(x):
    return x + 1

def second(x):
    return x * 2

def test_both():
    x = torch.randn(4, device="cuda")
    first(x), second(x)
"""


def test_of_several_the_one_that_is_named_is_meant():
    with pytest.raises(Refused, match="first and second"):
        adapted(TWO, "both.py")
    for name in ("first", "second"):
        model = adapted(TWO, name + ".py")
        assert "%s(a0)," % name in model.replace("\n", "")


def test_gradients_are_none_of_a_forward_pass():
    with pytest.raises(Refused, match="does not require grad"):
        adapted(HEAD + """
def squared(x):
    return x * x

def test_squared():
    squared(torch.randn(4, device="cuda", requires_grad=True)).sum().backward()
""", "squared.py")
