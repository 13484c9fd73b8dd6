"""What a kernel reads and writes: exact on plain kernels, too large where it cannot be known."""

import access
import interpreter
import pytest

HEAD = "import triton\nimport triton.language as tl\n\n\n"


def analyse(body, pointers="abc", numbers="n"):
    names = list(pointers) + list(numbers)
    text = HEAD + "@triton.jit\ndef kernel(%s):\n" % ", ".join(names)
    text += "\n".join("    " + line for line in body.strip("\n").splitlines()) + "\n"
    params = [{"name": p, "type": "*fp32"} for p in pointers]
    params += [{"name": p, "type": "i64" if p == "address" else "i32"} for p in numbers]
    ttir = interpreter.front_end({"name": "kernel", "params": params, "constexprs": {},
                                  "attrs": {}}, text)
    everything = list(range(len(names)))
    reads, writes = access.accessed_arguments(ttir, "kernel", everything,
                                              everything[:len(pointers)])
    return "".join(names[i] for i in reads), "".join(names[i] for i in writes)


I = "i = tl.arange(0, 16)\n"

CASES = {
    "plain": (I + "tl.store(c + i, tl.load(a + i) + tl.load(b + i))", "ab", "c"),
    "unused argument": (I + "tl.store(c + i, tl.load(a + i))", "a", "c"),
    "in place": (I + "tl.store(a + i, tl.load(a + i) * 2)", "a", "a"),
    "atomic": (I + "tl.atomic_add(c + i, tl.load(a + i))", "ac", "c"),
    "loop": (I + """
p = a + i
q = c + i
for k in range(0, n):
    tl.store(q, tl.load(p))
    p += 16
    q += 16
""", "a", "c"),
    "loop that swaps": (I + """
p = a + i
q = b + i
for k in range(0, n):
    tl.store(q, tl.load(c + i))
    t = p
    p = q
    q = t
""", "c", "ab"),
    "branch": (I + """
if n > 3:
    p = a + i
else:
    p = b + i
tl.store(p, tl.load(c + i))
""", "c", "ab"),
    "select": (I + "tl.store(tl.where(i > n, a + i, b + i), 1.0)", "", "ab"),
    "while": (I + """
p = a + i
k = 0
while k < n:
    tl.store(p, 1.0)
    p += 16
    k += 1
""", "", "a"),
    "early return": (I + """
p = a + i
if n > 3:
    return
tl.store(p, tl.load(b + i))
""", "b", "a"),
    "reinterpreted": (I + "tl.store(a.to(tl.pointer_type(tl.int32)) + i, i)", "", "a"),
    "gather": (I + "tl.store(c + i, tl.load(a + tl.load(b + i).to(tl.int32)))", "ab", "c"),
    "reduction": (I + "tl.store(c, tl.max(tl.load(a + i), 0))", "a", "c"),
    "descriptor": ("""
d = tl.make_tensor_descriptor(a, shape=[n, 16], strides=[16, 1], block_shape=[16, 16])
o = tl.make_tensor_descriptor(c, shape=[n, 16], strides=[16, 1], block_shape=[16, 16])
o.store([0, 0], d.load([0, 0]))
""", "a", "c"),
    # What cannot be followed is in both.
    "address as a number": (
        I + "tl.store(address.to(tl.pointer_type(tl.float32)) + i, tl.load(a + i))", "abc", "abc"),
    "pointer in memory": (I + """
p = tl.load(a.to(tl.pointer_type(tl.int64))).to(tl.pointer_type(tl.float32))
tl.store(p + i, 1.0)
""", "abc", "abc"),
    "assembly that loads": (I + """
v = tl.inline_asm_elementwise("ld.global.f32 $0, [$1];", "=f,l", [b.to(tl.int64) + i], tl.float32,
                              False, 1)
tl.store(c + i, v)
""", "abc", "abc"),
    # The intermediate representation prints a line's end as "\\0A", right before the next word.
    "assembly that stores, on a line of its own": (I + """
v = tl.inline_asm_elementwise("{\\nst.global.f32 [$1], 0f00000000;\\n}", "=r,l",
                              [tl.load(a + i).to(tl.int64)], tl.int32, False, 1)
tl.store(c + i, v)
""", "abc", "abc"),
    "assembly on numbers": (I + """
v = tl.inline_asm_elementwise("add.f32 $0, $1, $1;", "=f,f", [tl.load(a + i)], tl.float32, True, 1)
tl.store(c + i, v)
""", "a", "c"),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_reads_and_writes(name):
    body, reads, writes = CASES[name]
    numbers = ["address", "n"] if "address" in body else "n"
    assert analyse(body, numbers=numbers) == (reads, writes)


def test_text_that_is_no_ir_means_everything():
    assert access.accessed_arguments("garbage {", "kernel", [0, 1], [0, 1]) == ([0, 1], [0, 1])
    assert access.accessed_arguments(
        "module {\n  tt.func public @kernel(%a: !tt.ptr<f32>) {\n    what\n", "kernel", [0], [0]
    ) == ([0], [0])
