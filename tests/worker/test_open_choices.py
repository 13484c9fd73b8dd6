"""What a device leaves open, and what no kernel may do, in the interpreter of launches: the order of
programs, waiting, elements without a value, promises to the compiler, the amount of work.

Results are worked out by hand here.
"""

import numpy as np
import pytest
import torch
from interpreting import launch, machine
from memory import Fault, OutOfBounds
from triton.language.extra.cuda import libdevice

SEEDS = range(8)


def whole(count):
    return torch.zeros(count, dtype=torch.int32)


# -- the order of programs --------------------------------------------------------------------------

PAIRS = """
p = tl.program_id(0)
tl.store(x + p, p + 1)
tl.store(y + p, tl.load(x + (p ^ DISTANCE)))
"""


@pytest.mark.parametrize("distance", [1, 2, 4, 32])
def test_a_race_between_two_programs_shows_at_any_distance(distance):
    """Each program reads what its partner wrote, or has yet to write."""
    right = [(p ^ distance) + 1 for p in range(64)]
    wrong = 0
    for seed in SEEDS:
        x, y = whole(64), whole(64)
        launch(PAIRS, [64], {"x": x, "y": y}, [("DISTANCE", distance)], seed=seed)
        wrong += y.tolist() != right
    assert wrong >= len(SEEDS) // 2


@pytest.mark.parametrize("first", [0, 1, 2**63])
def test_seeds_in_a_row_show_each_order_of_two_programs(first):
    """Both read before either has stored; the first one stores before the second reads; and vice versa."""
    body = "p = tl.program_id(0)\nv = tl.load(x)\ntl.store(y + p, v)\ntl.store(x, v + 1)"
    found = []
    for seed in range(first, first + 3):
        x, y = whole(1), whole(2)
        launch(body, [2], {"x": x, "y": y}, seed=[seed, 5])
        found.append(tuple(y.tolist()))
    assert sorted(found) == [(0, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize("grid", [2, 3, 64])
def test_updates_by_a_load_and_a_store_are_lost(grid):
    body = "tl.store(x, tl.load(x) + 1)"
    found = set()
    for seed in range(16):
        x = whole(1)
        launch(body, [grid], {"x": x}, seed=seed)
        found.add(x.item())
    assert min(found) < grid


@pytest.mark.parametrize("grid", [2, 3, 64])
@pytest.mark.parametrize("one_at_a_time", [
    "tl.store(taken + tl.atomic_add(count, 1), p)",  # what an atomic returns
    "i = tl.arange(0, 262144)\ntl.atomic_add(count + (i & 1), i >> 17)",  # a large block
])
def test_updates_are_lost_also_where_programs_run_one_by_one(grid, one_at_a_time):
    found = set()
    for seed in range(6):
        x, count, taken = whole(1), whole(2), whole(64)
        launch("p = tl.program_id(0)\ntl.store(x, tl.load(x) + 1)\n" + one_at_a_time, [grid],
               {"x": x, "count": count, "taken": taken}, seed=seed)
        found.add(x.item())
    assert min(found) < grid


def test_every_program_adds_though_all_add_the_same():
    for body in ("tl.atomic_add(x, 2)", "if n > 0:\n    tl.atomic_add(x, 2)",
                 "i = tl.arange(0, 4)\ntl.atomic_add(x + i * 0, i * 0 + 2, mask=i < 1)"):
        x = whole(1)
        launch(body, [100], {"x": x, "n": 3})
        assert x.item() == 200


def test_a_loop_without_a_step_is_told():
    with pytest.raises(Fault, match="step"):
        launch("s = 0\nfor i in range(0, 5, n):\n    s += i\ntl.store(x, s)", [1], {"x": whole(1), "n": 0})


def test_the_last_of_two_writers_is_not_always_the_same():
    body = "tl.store(x, tl.program_id(0))"
    found = set()
    for seed in range(32):
        x = whole(1)
        launch(body, [2], {"x": x}, seed=seed)
        found.add(x.item())
    assert found == {0, 1}


def test_every_program_of_a_grid_runs_once():
    for total in (1, 2, 3, 5, 64, 1000):
        x = whole(total)
        launch("tl.atomic_add(x + tl.program_id(0), 1)", [total], {"x": x}, seed=total)
        assert x.eq(1).all()


def test_equal_seeds_give_equal_orders():
    body = "t = tl.atomic_add(x, 1)\ntl.store(y + t, tl.program_id(0))"
    orders = []
    for seed in (1, 1, 2):
        x, y = whole(1), whole(16)
        launch(body, [16], {"x": x, "y": y}, seed=seed)
        orders.append(y.tolist())
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[2]) == list(range(16))


@pytest.mark.parametrize("first", [0, 7, 2**63])
def test_seeds_in_a_row_show_each_value_of_masked_elements(first):
    """A maximum shows large ones alone, as NaN counts for nothing there."""
    found = set()
    for seed in range(first, first + 3):
        x, y = torch.zeros(4), torch.zeros(4)
        launch("i = tl.arange(0, 4)\ntl.store(y + i, tl.load(x + i, mask=i < 2))", [1], {"x": x, "y": y},
               seed=[seed, 5])
        found.add("nan" if y[3].isnan() else y[3].item())
    assert found == {"nan", 3e4, -3e4}


# -- programs that wait -----------------------------------------------------------------------------

TURNS = """
p = tl.program_id(0)
while tl.atomic_cas(turn, p, p) != p:
    pass
tl.store(y, tl.load(y) * 3 + p)
tl.atomic_xchg(turn, p + 1)
"""
BARRIER = """
p = tl.program_id(0)
tl.store(x + p, p + 1)
tl.atomic_add(count, 1)
while tl.atomic_add(count, 0) < tl.num_programs(0):
    pass
q = tl.num_programs(0) - 1 - p
tl.store(y + p, tl.load(x + q))
"""
PLAIN_FLAG = """
p = tl.program_id(0)
if p == 0:
    while tl.load(flag, volatile=True) == 0:
        pass
    tl.store(y, tl.load(x))
else:
    tl.store(x, 7)
    tl.store(flag, 1)
"""


def test_programs_take_turns_in_their_own_order():
    for seed in SEEDS:
        turn, y = whole(1), whole(1)
        launch(TURNS, [6], {"turn": turn, "y": y}, seed=seed)
        expected = 0
        for p in range(6):
            expected = expected * 3 + p
        assert y.item() == expected


@pytest.mark.parametrize("grid", [2, 3, 600])
def test_a_lock_keeps_updates(grid):
    body = """
while tl.atomic_cas(lock, 0, 1) != 0:
    pass
tl.store(x, tl.load(x) + 1)
tl.atomic_xchg(lock, 0)
"""
    for seed in range(3):
        x, lock = whole(1), whole(1)
        launch(body, [grid], {"x": x, "lock": lock}, seed=seed)
        assert x.item() == grid


def test_each_of_many_programs_waits_for_the_one_before():
    """More programs than threads."""
    body = """
p = tl.program_id(0)
before = 1
if p > 0:
    before = tl.load(x + p - 1, volatile=True)
    while before == 0:
        before = tl.load(x + p - 1, volatile=True)
tl.store(x + p, before + 1)
"""
    x = whole(600)
    launch(body, [600], {"x": x})
    assert x.tolist() == list(range(2, 602))


def test_a_barrier_of_the_grid_holds():
    for seed in SEEDS:
        x, count, y = whole(24), whole(1), whole(24)
        launch(BARRIER, [24], {"x": x, "count": count, "y": y}, seed=seed)
        assert y.tolist() == [24 - p for p in range(24)]


def test_a_flag_that_another_program_stores_is_waited_for():
    for seed in SEEDS:
        x, flag, y = whole(1), whole(1), whole(1)
        launch(PLAIN_FLAG, [2], {"x": x, "flag": flag, "y": y}, seed=seed)
        assert y.item() == 7


@pytest.mark.parametrize("grid", [1, 4])
def test_a_wait_for_what_no_program_does_is_told(grid):
    body = "while tl.atomic_cas(x, 1, 1) != 1:\n    pass"
    with pytest.raises(Fault, match="wait"):
        launch(body, [grid], {"x": whole(1)})


def test_a_fault_of_a_program_that_waited_is_its_own():
    body = BARRIER + "tl.store(y + 1000, p)"
    with pytest.raises(OutOfBounds):
        launch(body, [4], {"x": whole(4), "count": whole(1), "y": whole(4)})


@pytest.mark.parametrize("read", ["tl.atomic_add(x + p - 1, 0)", "tl.load(x + p - 1, volatile=True)"])
def test_a_wait_may_count_its_rounds(read):
    """As those do that give up in the end."""
    body = """
p = tl.program_id(0)
if p > 0:
    rounds = 0
    while (%s == 0) & (rounds < 100000000):
        rounds += 1
    tl.store(y + p, tl.load(x + p - 1))
tl.store(x + p, p + 1)
""" % read
    x, y = whole(100), whole(100)
    launch(body, [100], {"x": x, "y": y})
    assert y.tolist() == list(range(100))


@pytest.mark.parametrize("grid", [1, 4])
def test_a_wait_that_counts_its_rounds_in_vain_is_told_by_count(grid):
    body = "rounds = 0\nwhile (tl.load(x, volatile=True) == 0) & (rounds < 1000000000):\n    rounds += 1\n"
    with pytest.raises(Fault, match="work"):
        launch(body + "tl.store(y, rounds)", [grid], {"x": whole(1), "y": whole(1)}, work=1e6)


@pytest.mark.parametrize("grid", [1, 4])
def test_rounds_that_read_the_same_again_and_again_end(grid):
    body = "rounds = 0\nwhile rounds < 5000:\n    rounds += tl.load(x)\ntl.store(y + tl.program_id(0), rounds)"
    y = whole(4)
    launch(body, [grid], {"x": whole(1) + 1, "y": y})
    assert y[:grid].tolist() == [5000] * grid


def test_a_loop_that_counts_its_rounds_is_no_wait():
    body = "n = 0\nwhile (tl.load(x) == 0) & (n < 10):\n    n += 1\ntl.store(y, n)"
    y = whole(1)
    launch(body, [1], {"x": whole(1), "y": y})
    assert y.item() == 10


# -- how much a launch does ----------------------------------------------------------------------

@pytest.mark.parametrize("grid, body", [
    (2**31 - 1, "if tl.program_id(0) == 7:\n    tl.store(x, 1)"),
    (1, "n = 0\nwhile n >= 0:\n    n = (n + 1) & 1023\ntl.store(x, n)"),
    (1, "n = 0\nfor i in range(2000000000):\n    n = (n + i) ^ 3\ntl.store(x, n)"),
    (1, "for i in range(100000):\n    tl.store(x + i * 0, tl.sum(tl.arange(0, 1024), 0))"),
])
def test_a_launch_that_does_too_much_is_told_by_count(grid, body):
    with pytest.raises(Fault, match="work"):
        launch(body, [grid], {"x": whole(1)}, work=1e6)


def test_a_launch_knows_how_much_it_did():
    """Twice the programs do twice as much."""
    done = []
    for grid in (8, 16):
        made, values = machine("tl.store(x + tl.program_id(0), 1)", {"x": whole(16)})
        made.launch([grid, 1, 1], values)
        done.append(made.counted)
    assert 0 < done[0] and done[1] == 2 * done[0]


def test_the_products_of_a_matrix_product_count():
    body = "i = tl.arange(0, 32)\na = tl.load(x + i[:, None] * 32 + i[None, :])\n" \
           "tl.store(x + i[:, None] * 32 + i[None, :], tl.dot(a, a, input_precision='ieee'))"
    made, _ = machine(body, {"x": torch.zeros(1024)})
    assert 32**3 < made.kernel.blocks[0].work < 2 * 32**3 + 20000


# -- what has no value ------------------------------------------------------------------------------

@pytest.mark.parametrize("body", [
    "tl.store(y, tl.sum(tl.load(x + i, mask=i < 3), 0))",
    "tl.store(y, tl.max(tl.load(x + i, mask=i < 3), 0))",
    "tl.store(y, tl.min(tl.load(x + i, mask=i < 3), 0))",
])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8])
def test_masked_elements_without_other_are_nothing_to_rely_on(body, dtype):
    """Some launches differ: nothing that a candidate takes them for holds in all of them."""
    found = set()
    for seed in SEEDS:
        x, y = torch.tensor([1, 2, 3, 0], dtype=dtype), torch.zeros(1, dtype=dtype)
        launch("i = tl.arange(0, 4)\n" + body, [1], {"x": x, "y": y}, seed=seed)
        found.add(str(y.item()))
    assert len(found) > 1


def test_masked_elements_that_are_masked_again_do_no_harm():
    body = "i = tl.arange(0, 4)\nv = tl.load(x + i, mask=i < 3)\ntl.store(y + i, v + 1, mask=i < 3)"
    for seed in SEEDS:
        x, y = torch.arange(4.0), torch.zeros(4)
        launch(body, [1], {"x": x, "y": y}, seed=seed)
        assert y.tolist() == [1, 2, 3, 0]


# -- hints ------------------------------------------------------------------------------------------

def hinted(body, n):
    x, y = torch.arange(256.0), torch.zeros(256)
    launch(body, [1], {"x": x, "y": y, "n": n})
    return y


def test_a_multiple_that_is_none_is_told():
    body = "k = tl.multiple_of(n + tl.program_id(0), 4)\ni = k + tl.arange(0, 16)\n" \
           "tl.store(y + i, tl.load(x + i))"
    assert hinted(body, 8)[8:24].tolist() == list(range(8, 24))
    with pytest.raises(Fault, match="multiple"):
        hinted(body, 6)


def test_elements_that_are_not_contiguous_are_told():
    body = "i = tl.max_contiguous(tl.arange(0, 16) * n, 16)\ntl.store(y + i, tl.load(x + i))"
    hinted(body, 1)
    with pytest.raises(Fault, match="contiguous"):
        hinted(body, 2)


def test_elements_that_are_not_constant_are_told():
    body = "i = tl.max_constancy(tl.arange(0, 16) // n, 4)\ntl.store(y + i, tl.load(x + i))"
    hinted(body, 4)
    with pytest.raises(Fault, match="equal"):
        hinted(body, 3)


@pytest.mark.parametrize("n", [16, 20, 128])
def test_the_usual_hint_of_a_product_holds_where_rows_wrap_at_a_vector(n):
    """Triton's tutorial says BLOCK elements are contiguous, and they wrap at n. Vectors are of 16 bytes."""
    body = "i = tl.max_contiguous(tl.multiple_of(tl.arange(0, 64) % n, 64), 64)\n" \
           "tl.store(y + tl.arange(0, 64), tl.load(x + i))"
    assert hinted(body, n)[:64].tolist() == [i % n for i in range(64)]
    with pytest.raises(Fault):
        hinted(body, 18)


def test_a_promise_that_joins_no_accesses_is_free():
    """Rows of a matrix are far apart in memory, whatever is promised of their numbers."""
    body = "r = tl.max_contiguous(tl.multiple_of(tl.arange(0, 64) % n, 64), 64)\n" \
           "c = tl.arange(0, 4)\nv = tl.load(x + r[:, None] * 4 + c[None, :])\n" \
           "tl.store(y + tl.arange(0, 64), tl.sum(v, 1))"
    assert hinted(body, 33)[:64].tolist() == [4 * 4 * (i % 33) + 6 for i in range(64)]


@pytest.mark.parametrize("wrap", ["i % n", "tl.where(i < n, i, 0)"])
def test_rows_that_wrap_beside_a_stride_are_free(wrap):
    body = "i = tl.arange(0, 64)\nk = tl.arange(0, 2)\n" \
           "w = tl.max_contiguous(tl.multiple_of(%s, 64), 64)\n" \
           "v = tl.load(x + k[:, None] * n + w[None, :])\ntl.store(y + i, tl.sum(v, 0))" % wrap
    hinted(body, 51)


def test_a_promise_is_followed_through_a_loop():
    body = "i = tl.max_contiguous(tl.arange(0, 16) * n, 16)\np = x + i\ns = tl.zeros((16,), tl.float32)\n" \
           "for _ in range(0, 4):\n    s += tl.load(p)\n    p += 16\ntl.store(y + tl.arange(0, 16), s)"
    hinted(body, 1)
    with pytest.raises(Fault, match="contiguous"):
        hinted(body, 3)


def test_a_multiple_that_a_stride_is_said_to_be_is_told():
    body = "k = tl.multiple_of(n + tl.program_id(0), 8)\nr = tl.arange(0, 4)\nc = tl.arange(0, 16)\n" \
           "v = tl.load(x + r[:, None] * k + c[None, :])\ntl.store(y + r, tl.sum(v, 1))"
    hinted(body, 16)
    with pytest.raises(Fault, match="multiple"):
        hinted(body, 18)


def test_an_assumption_that_does_not_hold_is_told():
    body = "tl.assume(n > 3)\ntl.store(y, 1.0)"
    hinted(body, 4)
    with pytest.raises(Fault, match="assume"):
        hinted(body, 3)


# -- the device library -----------------------------------------------------------------------------

def by_library(function, x, out=torch.float32):
    y = torch.zeros(len(x), dtype=out)
    launch("i = tl.arange(0, %d)\ntl.store(y + i, libdevice.%s(tl.load(x + i)))" % (len(x), function), [1],
           {"x": torch.tensor(x, dtype=torch.float32), "y": y})
    return y.numpy()


def test_the_gamma_function_has_its_sign():
    """Gamma(-1/2) = -2 sqrt(pi), Gamma(-3/2) = 4 sqrt(pi) / 3, Gamma(n) = (n - 1)!."""
    root = np.sqrt(np.pi)
    found = by_library("tgamma", [-0.5, -1.5, 0.5, 5.0])
    np.testing.assert_allclose(found, [-2 * root, 4 * root / 3, root, 24], rtol=1e-6)


def test_rounding_to_integers_takes_the_even_one():
    assert by_library("llrint", [0.5, 1.5, -2.5, 3.7], torch.int64).tolist() == [0, 2, -2, 4]
    assert by_library("llround", [0.5, 1.5, -2.5, 3.7], torch.int64).tolist() == [1, 2, -3, 4]


# What each fast function of the installed libdevice is, of x and 2.
FAST = {"fast_dividef": lambda x: x / 2, "fast_powf": lambda x: x * x, "fast_expf": np.exp,
        "fast_exp10f": lambda x: 10**x, "fast_logf": np.log, "fast_log2f": np.log2, "fast_log10f": np.log10,
        "fast_sinf": np.sin, "fast_cosf": np.cos, "fast_tanf": np.tan}


@pytest.mark.parametrize("name", sorted(name for name in dir(libdevice) if name.startswith("fast_")))
def test_every_fast_function_is_known(name):
    x, y = torch.tensor([0.25, 0.5, 1.25, 3.0]), torch.zeros(4)
    second = ", v * 0 + 2.0" if name in ("fast_dividef", "fast_powf") else ""
    launch("i = tl.arange(0, 4)\nv = tl.load(x + i)\ntl.store(y + i, libdevice.%s(v%s))" % (name, second), [1],
           {"x": x, "y": y})
    np.testing.assert_allclose(y.numpy(), FAST[name](x.double().numpy()), rtol=1e-5)


@pytest.mark.parametrize("function, exact, x", [
    ("fast_expf", np.exp, np.linspace(20, 80, 64)),
    ("fast_exp10f", lambda x: 10.0 ** x, np.linspace(8, 30, 64)),
    ("fast_sinf", np.sin, np.linspace(1e-4, 1e-3, 64)),
    ("fast_cosf", np.cos, np.linspace(1.5700, 1.5706, 64)),
    ("fast_logf", np.log, np.linspace(1.0001, 1.001, 64)),
    ("fast_log2f", np.log2, np.linspace(1.0001, 1.001, 64)),
])
def test_fast_functions_have_an_error(function, exact, x):
    """Where CUDA's guide puts their error far above the rounding of float32."""
    x = np.float32(x)
    right = exact(x.astype(np.float64))
    error = np.sqrt(np.mean(((by_library(function, x) - right) / right) ** 2))
    assert 4e-7 < error < 1e-2
