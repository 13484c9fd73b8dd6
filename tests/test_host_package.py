"""The package of host/: its checks say what those in an export say in Python, and its launches give the driver what
Triton would. A library that writes down what it is given stands for the driver."""

import collections
import ctypes
import random
import struct
import subprocess
import sys
import types
import unittest.mock
from pathlib import Path

import pytest
import torch
import triton

from test_host_path import HOST, folder, host_package  # noqa: F401
from truth_calls import load

LAYERS, TESTS = 40, Path(__file__).resolve().parent


@pytest.fixture
def both(folder):  # noqa: F811
    return load(folder / "optimized.py", "host_package_export")._kw_Host, host_package()


def test_they_have_the_same_functions(both):
    python, cpp = ({name for name in dir(host) if not name.startswith("_")} for host in both)
    assert cpp == python | {"VERSION", "kernel", "launch"}


class Computed(dict):
    """What it holds is computed."""

    def __getitem__(self, key):
        return 5

    def __iter__(self):
        return iter(["other"])


def changes(rng):
    """Items, keys, sizes and types before and after something changed, or nothing."""
    owners = [{"weight": object(), 3: object()} for _ in range(LAYERS)] + [[object(), object()], (object(),)]
    keys = [rng.choice(list(owner)) if isinstance(owner, dict) else 0 for owner in owners]
    found = [owner[key] for owner, key in zip(owners, keys)]
    seen = {"same_items": (owners, keys, found), "same_keys": (owners[:LAYERS], [tuple(o) for o in owners[:LAYERS]]),
            "same_sizes": (owners, [len(o) for o in owners]), "same_types": (found, [type(f) for f in found])}
    at = rng.randrange(LAYERS)
    what = rng.choice(["nothing", "another", "gone", "more", "order", "type", "computed", "shorter"])
    if what == "another":
        owners[at][keys[at]] = object()
    elif what == "gone":
        del owners[at][keys[at]]
    elif what == "more":
        owners[at]["more"] = 1
    elif what == "order":
        owners[at]["weight"] = owners[at].pop("weight")
    elif what == "type":
        found[at] = Computed()
    elif what == "computed":
        owners[at] = Computed(owners[at])
    elif what == "shorter":
        owners.pop()
    return what, seen


def outcome(function, *given):
    """What it returns; "raises" where the caller takes the model for another one."""
    try:
        return function(*given)
    except (AttributeError, LookupError, RuntimeError, TypeError):
        return "raises"


def differs(result):
    return result == "raises" or not result


def test_both_see_the_same_changes(both):
    for seed in range(300):
        what, seen = changes(random.Random(seed))
        for name, given in seen.items():
            python, cpp = (outcome(getattr(host, name), *given) for host in both)
            if what == "shorter" and name == "same_items":
                continue  # Python's map ends with the shortest
            assert differs(python) == differs(cpp), (what, name)
            assert what != "nothing" or not differs(cpp)


def test_ordered_dicts_have_keys_too(both):
    Ordered = collections.OrderedDict
    for host in both:
        for table, keys, same in ((Ordered(), (), True), (Ordered(a=1), (), False), (Ordered(), ("a",), False),
                                  (Ordered(a=1, b=2), ("a", "b"), True), (Ordered(b=2, a=1), ("a", "b"), False)):
            assert host.same_keys([table], [keys]) is same, (table, keys)


DICT_CHANGES = {
    "another value": lambda d: d.__setitem__("a", object()), "a key more": lambda d: d.__setitem__("c", 1),
    "a key less": lambda d: d.pop("a"), "another order": lambda d: d.__setitem__("a", d.pop("a")),
    "no keys": lambda d: d.clear(), "an update": lambda d: d.update(a=object()), "popitem": lambda d: d.popitem(),
    "setdefault": lambda d: d.setdefault("c", 2), "or": lambda d: d.__ior__({"b": object()}),
}


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="this Python has no versions of dicts")
def test_a_stamp_is_another_after_each_change(both):
    dicts = [{"a": 1, "b": 2} for _ in range(20)] + [vars(torch.nn.Linear(2, 2))]
    stamp = both[1].stamp(dicts)
    assert both[1].stamp(list(dicts)) == stamp
    for name, change in DICT_CHANGES.items():
        dicts[7].update(a=1, b=2)
        before = both[1].stamp(dicts)
        change(dicts[7])
        assert both[1].stamp(dicts) != before, name
    module = torch.nn.Linear(2, 2)
    dicts = [vars(module)]
    for change in (lambda: setattr(module, "note", 1), lambda: setattr(module, "note", 2), module.eval,
                   lambda: delattr(module, "note")):
        before = both[1].stamp(dicts)
        change()
        assert both[1].stamp(dicts) != before
    dicts[0] = dict(dicts[0])
    assert both[1].stamp(dicts) != before
    assert both[1].stamp([{}, collections.OrderedDict()]) is None and both[0].stamp([{}]) is None


BASE = torch.randn(64)
TENSORS = {
    "a tensor": lambda: BASE[:24].view(4, 6), "another shape": lambda: BASE[:24].view(6, 4),
    "other strides": lambda: BASE[:24].view(6, 4).t(), "other memory": lambda: torch.randn(4, 6),
    "another dtype": lambda: BASE.view(torch.int32)[:24].view(4, 6), "no alignment": lambda: BASE[1:25].view(4, 6),
    "an alignment of 16": lambda: BASE[4:28].view(4, 6), "a parameter": lambda: torch.nn.Parameter(BASE[:24].view(4, 6)),
    "gradients": lambda: BASE[:24].view(4, 6).detach().requires_grad_(),
    "a parameter without": lambda: torch.nn.Parameter(BASE[:24].view(4, 6), requires_grad=False),
    "a negative view": lambda: torch._neg_view(BASE[:24].view(4, 6)), "no elements": lambda: BASE[:0].view(0, 6),
    "another device": lambda: torch.empty(4, 6, device="meta"), "one dimension": lambda: BASE[:24],
}
NO_TENSORS = {"a number": lambda: 2.5, "what says it is one": lambda: unittest.mock.Mock(spec=torch.Tensor), "None": lambda: None, "sparse": lambda: torch.eye(4).to_sparse(),
              "a text": lambda: "x"}


@pytest.mark.parametrize("name", ["traits", "places", "any_requires_grad"])
def test_both_tell_the_same_tensors_apart(both, name):
    """Equal where the other's are equal, for each pair of tensors."""
    made = [make() for make in TENSORS.values()]
    for host in both:
        assert getattr(host, name)([]) == getattr(host, name)(())
    python, cpp = ([getattr(host, name)((t,)) for t in made] for host in both)
    for i, first in enumerate(TENSORS):
        for j, second in enumerate(TENSORS):
            assert (python[i] == python[j]) == (cpp[i] == cpp[j]), (name, first, second)
    whole = getattr(both[1], name)(made)
    assert whole == getattr(both[1], name)(list(made))


@pytest.mark.parametrize("what", NO_TENSORS)
@pytest.mark.parametrize("name", ["traits", "places", "versions"])
def test_what_is_no_plain_tensor_raises(both, name, what):
    tensor = NO_TENSORS[what]()
    if name != "versions" or not isinstance(tensor, torch.Tensor):
        for host in both[1:] if what == "what says it is one" else both:
            assert outcome(getattr(host, name), [BASE, tensor]) == "raises"


def test_versions(both):
    for host in both:
        tensors = [torch.zeros(3) for _ in range(5)]
        before = host.versions(tensors)
        assert host.versions(tensors) == before
        tensors[3].add_(1)
        assert host.versions(tensors) != before
        with torch.inference_mode():
            tensors[2] = torch.zeros(3)
        with pytest.raises(RuntimeError):
            host.versions(tensors)


# --- launches ---

CALLS = r"""
import torch, kernelwright_host as host
x = torch.arange(4.0)
print(x.data_ptr(), flush=True)
kernel = host.kernel(0xabc, (2, 3, 4), 128, 4096, "PxPbhiqBHIQfdxx")
given = (x, "compiled in", None, True, -2, -3, -4, 255, 65535, 4294967295, 2**63 + 1, 0.1, 0.1)
assert host.launch(kernel, 77, given) is True
assert host.launch(kernel, 77, [*given, "constant", 8]) is True
assert host.launch(host.kernel(0xc0, (1, 1, 1), 32, 0, "PxPbhiqBHIQfdxx"), 0, given) is False
assert host.launch(host.kernel(0xabc, (0, 1, 1), 32, 0, "PxPbhiqBHIQfdxx"), 0, given) is True
for function, args in ((0xbad, given), (0xabc, given[:-1]), (0xabc, given + (1, 2, 3)), (0xabc, (2.5,) + given[1:]),
                       (0xabc, given[:3] + ("x",) + given[4:])):
    try:
        host.launch(host.kernel(function, (1, 1, 1), 32, 0, "PxPbhiqBHIQfdxx"), 0, args)
    except (RuntimeError, TypeError) as error:
        print(type(error).__name__, error, flush=True)
assert host.kernel(1, (1, 1, 1), 32, 0, "P?") is None
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")  # noqa: F811
    include = Path(triton.__file__).parent / "backends/nvidia/include"
    subprocess.run(["g++", "-shared", "-fPIC", "-I", include, TESTS / "fake_driver.cc", "-o", folder / "libcuda.so.1"],
                   check=True)
    return folder


def printed(driver, *command, **variables):
    """What a Python command prints on a machine with this driver."""
    host_package()
    done = subprocess.run([sys.executable, *map(str, command)], text=True, capture_output=True, cwd=driver, env={
        "PYTHONPATH": "%s:%s" % (HOST, TESTS), "LD_LIBRARY_PATH": str(driver), "PATH": "/usr/bin",
        "TRITON_CACHE_DIR": str(driver / "cache"), **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_triton_gives_the_driver_the_same(driver, folder):  # noqa: F811
    lines = printed(driver, TESTS / "launch_twice.py", folder / "optimized.py")
    assert len(lines) == 2 * (1 + 3 * 4 * 5)
    for number, (triton_s, ours) in enumerate(zip(lines[::2], lines[1::2])):
        assert triton_s == ours, number
    assert len(set(lines)) == 1 + 2 * 4 * 5, "each kernel and each place is told apart"


def test_launches_give_the_driver_what_it_takes(driver):
    address, *lines = printed(driver, "-c", CALLS, PARAMETERS="8 " * 14)
    pointer, null = struct.pack("<Q", int(address)).hex(), bytes(8).hex()
    first, second, refused, *rest = [line.split() for line in lines]
    assert first == second and first[:9] == ["0xabc", "2", "3", "4", "128", "1", "1", "4096", "0x4d"]
    assert refused[0] == "0xc0", "and a grid without programs is not launched"
    values = [bytes.fromhex(value) for value in first[9:]]
    assert values[0].hex() == pointer and values[1].hex() == null and values[12:] == [bytes(8)] * 2
    for value, layout, want in zip(values[2:12], "bhiqBHIQfd", [1, -2, -3, -4, 255, 65535, 4294967295, 2**63 + 1,
                                                               ctypes.c_float(0.1).value, 0.1]):
        assert struct.unpack_from("<" + layout, value)[0] == want, layout
    said = [" ".join(words) for words in rest if words[0].endswith("Error")]
    assert said[0] == "RuntimeError cuLaunchKernel: an illegal address (700)"
    assert said[1:3] == ["TypeError too few arguments", "TypeError too many arguments"]
    assert said[3] == "TypeError no tensor for a pointer" and said[4].startswith("TypeError") and len(said) == 5


@pytest.fixture
def export(folder):  # noqa: F811
    return load(folder / "optimized.py", "host_package_export")


def launched(export, monkeypatch, **told):
    """What kernelwright_host is told of a compiled kernel by an export; None if it is left to Triton."""
    class Compiled:
        function = 11
        metadata = types.SimpleNamespace(**{"num_warps": 4, "shared": 512, "num_ctas": 1, "global_scratch_size": 0,
                                            "profile_scratch_size": 0, "launch_pdl": False,
                                            "launch_cooperative_grid": False, **told})
        src = types.SimpleNamespace(signature=dict(x="*fp32", w="*bf16", one="constexpr", y="*fp32", n="i32",
                                                   N="constexpr", BLOCK="constexpr"))
    monkeypatch.setattr(export._kw_triton.compiler, "CompiledKernel", Compiled)
    monkeypatch.setattr(export, "_kw_host", types.SimpleNamespace(kernel=lambda *args: args))
    return export._kw_launch_0.directly(Compiled())


def test_plain_kernels_are_launched_directly(export, monkeypatch):
    assert launched(export, monkeypatch) == (11, (1, 1, 1), 128, 512, "PPxPixx", [])


@pytest.mark.parametrize("takes", [True, False])
def test_what_is_not_launched_directly_goes_to_triton(export, monkeypatch, takes):
    """In a thread without a context, which Triton makes."""
    direct, ran = [], []
    launch = export._kw_launch_0
    compiled = types.SimpleNamespace(function=11, packed_metadata=(2, 1), run=lambda *args: ran.append(args))
    monkeypatch.setattr(launch, "compiled", {0: compiled})
    monkeypatch.setattr(launch, "direct", {0: "handle"})
    monkeypatch.setattr(export, "_kw_host", types.SimpleNamespace(launch=lambda *args: (direct.append(args), takes)[1]))
    launch((0, 7), "x", "w", 1, "y", 128)
    assert direct == [("handle", 7, ("x", "w", 1, "y", 128))]
    assert ran == ([] if takes else [(1, 1, 1, 7, 11, (2, 1), None, None, None, "x", "w", 1, "y", 128, 16, 128)])


@pytest.mark.parametrize("wants", ["global_scratch_size", "profile_scratch_size", "launch_pdl",
                                   "launch_cooperative_grid", "num_ctas"])
def test_kernels_that_want_more_are_left_to_triton(export, monkeypatch, wants):
    assert launched(export, monkeypatch, **{wants: 2}) is None


