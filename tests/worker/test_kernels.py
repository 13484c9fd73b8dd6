"""From a launch in a candidate to a slice, machine code and a run, through a real zygote."""

import mmap
import os

import frames
import numpy as np
import pytest
import torch
from conftest import ended

import replay

SOURCE = """
import math
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language import exp as exponential

EPS: tl.constexpr = 1e-6
GAIN = tl.constexpr(2.0)
OUT = tl.float32
UNUSED = object()


@triton.jit
def unused(x):
    tl.store(x, 1.0)


def make(scale):
    @triton.jit
    def scaled(v):
        return v * scale
    return scaled


times_three = make(tl.constexpr(3.0))


@triton.jit
def silu(x):
    # x * sigmoid(x)
    return x * tl.sigmoid(x)


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def kernel(x_ptr, y_ptr, o_ptr, n, s, one, ACT: tl.constexpr, BLOCK: tl.constexpr,
           EVEN: tl.constexpr):
    \"\"\"A doc string.\"\"\"
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * one, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    r = ACT(x) * y * s * GAIN + libdevice.erf(x) * EPS + exponential(-x * x)
    if EVEN:
        r = r + 1.0
    tl.store(o_ptr + offsets, r.to(OUT), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x, y):
        o = torch.empty_like(x)
        n = x.numel()
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](
            x, y, o, n, 0.5, 1, ACT=silu, BLOCK=256, num_warps=8)
        kernel[(triton.cdiv(n, 128),)](x, o, o, n, 0.25, 1, silu, 128)
        return o


def get_inputs():
    return [torch.randn(1000), torch.randn(1000)]
"""


def expected(x, y):
    def once(x, y, s, even):
        return x * torch.sigmoid(x) * y * s * 2.0 + torch.erf(x) * 1e-6 + torch.exp(-x * x) + even
    return once(x, once(x, y, 0.5, 0.0), 0.25, 0.0)


@pytest.fixture(scope="module")
def built(client, tools):
    reply, _ = client.run(tools.request(SOURCE, "ModelNew"))
    assert reply["status"] == "ok", reply
    compiled, blobs = client.run({"kind": "compile", "source": SOURCE, "file": "model.py",
                                  "arch": "sm_90", "kernels": reply["kernels"]})
    assert compiled["status"] == "ok", compiled
    return reply["task"], reply["kernels"], compiled["kernels"], blobs


def interpret(client, entry, step, values):
    """Runs a launch of a Program's on CPU tensors, each in a buffer of its own storage."""
    buffers, args, fds, shared = {}, [], [], {}
    for arg in step["args"]:
        if not isinstance(arg, dict) or "v" not in arg:
            args.append(arg)
            continue
        tensor = values[arg["v"]]
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in buffers:
            fd = os.memfd_create("buffer")
            os.ftruncate(fd, storage.nbytes())
            view = np.frombuffer(mmap.mmap(fd, storage.nbytes()), np.uint8)
            whole = torch.empty(0, dtype=torch.uint8).set_(storage)
            view[:] = whole.numpy()
            buffers[storage.data_ptr()] = len(fds)
            shared[len(fds)] = (view, whole)
            fds.append(fd)
        args.append({"buffer": buffers[storage.data_ptr()], "dtype": str(tensor.dtype)[6:],
                     "offset": tensor.storage_offset() * tensor.element_size()})
    lowered, _ = client.run({"kind": "lower", "slice": entry["slice"], "kernel": entry["kernel"]})
    assert lowered["status"] == "ok", lowered
    reply, _ = client.run({"kind": "interpret", "ttir": lowered["ttir"], "kernel": entry["kernel"],
                           "grid": step["grid"], "args": args,
                           "buffers": [{"bytes": len(view)} for view, _ in shared.values()]},
                          fds=fds)
    for fd in fds:
        os.close(fd)
    for view, whole in shared.values():
        whole.numpy()[:] = view
    return reply


def test_launches_are_recorded(built):
    task, raw, _, _ = built
    launches = [s for s in task["forward"]["steps"] if "launch" in s]
    assert [s["grid"] for s in launches] == [[4, 1, 1], [8, 1, 1]]
    assert [s["launch"] for s in launches] == [0, 1]
    first, second = task["kernels"]
    assert first["options"] == {"num_warps": 8} and second["options"] == {}
    kinds = {p["name"]: p["type"] for p in first["params"]}
    assert kinds == {"x_ptr": "*fp32", "y_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32", "s": "fp32",
                     "one": "constexpr", "ACT": "constexpr", "BLOCK": "constexpr",
                     "EVEN": "constexpr"}
    assert first["constexprs"] == {"5": 1, "6": {"function": "silu"}, "7": 256, "8": False}
    # Divisibility of synthetic addresses and of sizes; 1000 is no multiple of 16.
    assert sorted(first["attrs"]) == ["0", "1", "2"]
    assert launches[0]["args"][3:] == [1000, 0.5]


def test_slices_hold_what_is_needed_and_nothing_else(built):
    _, _, kernels, _ = built
    text = kernels[0]["slice"]
    assert text.startswith("EPS") or text.startswith(("from", "import"))
    for needed in ("def silu(x):\n    # x * sigmoid(x)", "def kernel(", "GAIN = tl.constexpr(2.0)",
                   "EPS = tl.constexpr(1e-06)", "OUT = tl.float32",
                   "from triton.language.extra import libdevice",
                   "from triton.language import exp as exponential"):
        assert needed in text
    for absent in ("class ", "unused", "heuristics", "torch", "math", "UNUSED", "scaled"):
        assert absent not in text
    assert kernels[0]["slice"] == kernels[1]["slice"]


def test_reads_and_writes(built):
    _, _, kernels, _ = built
    for entry in kernels:
        assert entry["kernel"]["compiled"]["reads"] == [0, 1]
        assert entry["kernel"]["compiled"]["writes"] == [2]


def test_machine_code(built):
    _, _, kernels, blobs = built
    for entry in kernels:
        compiled = entry["kernel"]["compiled"]
        cubin = blobs[entry["cubin"]]
        assert cubin.startswith(b"\x7fELF") and compiled["symbol"].encode() in cubin
        assert 8 <= compiled["registers"] <= 255
    assert [k["kernel"]["compiled"]["num_warps"] for k in kernels] == [8, 4]


def test_equal_slices_give_equal_code(built, client):
    _, raw, kernels, blobs = built
    moved = "\n\n\n# moved down\n" + SOURCE
    raw = [{**kernel, "functions": [{**f, "line": f["line"] + 4} for f in kernel["functions"]]}
           for kernel in raw]
    again, other = client.run({"kind": "compile", "source": moved, "file": "other.py",
                               "arch": "sm_90", "kernels": raw})
    assert [k["slice"] for k in again["kernels"]] == [k["slice"] for k in kernels]
    assert other == blobs


def test_slicing_is_idempotent(built, client, tools):
    """A file that holds the slice's functions records and slices to the same kernels."""
    _, raw, kernels, _ = built
    source = kernels[0]["slice"] + SOURCE[SOURCE.index("class ModelNew"):].replace(
        "silu, 128)", "silu, 128, EVEN=False)").replace("num_warps=8)", "EVEN=False, num_warps=8)")
    source = "import torch\nimport torch.nn as nn\n" + source
    reply, _ = client.run(tools.request(source, "ModelNew"))
    assert reply["status"] == "ok", reply
    again, _ = client.run({"kind": "compile", "source": source, "file": "m.py", "arch": "sm_90",
                           "kernels": reply["kernels"]})
    assert [k["slice"] for k in again["kernels"]] == [k["slice"] for k in kernels]
    assert [k["kernel"] for k in again["kernels"]] == [k["kernel"] for k in kernels]


def test_the_candidate_computes_what_it_says(built, client):
    task, _, kernels, _ = built

    def launch(step, values):
        reply = interpret(client, kernels[step["launch"]], step, values)
        assert reply["status"] == "ok", reply

    _, arguments, result, _ = replay.run_task(task, launch=launch)
    torch.testing.assert_close(result, expected(*arguments), rtol=1e-5, atol=1e-6)


def test_access_outside_a_buffer_is_found(built, client):
    _, _, kernels, _ = built
    values = {0: torch.randn(100), 1: torch.randn(100), 2: torch.zeros(90)}
    step = {"grid": [1, 1, 1], "args": [{"v": 0}, {"v": 1}, {"v": 2}, 100, 1.0]}
    reply = interpret(client, kernels[0], step, values)
    assert reply["status"] == "refused" and reply["code"] == "raised"
    assert "outside" in reply["message"]


def test_a_child_stays_for_launches(client):
    """One after the other, with buffers of their own, of which it keeps none."""
    ttir = """
module {
  tt.func public @put(%x: !tt.ptr<i32>, %n: i32) {
    tt.store %x, %n : !tt.ptr<i32>
    tt.return
  }
}"""
    kernel = {"name": "put", "params": [{"name": "x", "type": "*i32"}, {"name": "n", "type": "i32"}]}
    request = {"kind": "interpret", "ttir": ttir, "kernel": kernel, "grid": [1, 1, 1], "stay": True,
               "buffers": [{"bytes": 4}]}
    sock = pidfd = None
    for number in range(600):  # more than a job may have descriptors
        fd = os.memfd_create("buffer")
        os.ftruncate(fd, 4)
        message = {**request, "args": [{"buffer": 0, "dtype": "int32", "offset": 0}, number]}
        if sock is None:
            sock, _, pidfd = client.start(message, fds=[fd])
        else:
            frames.send(sock, message, fds=[fd])
        reply, _, _ = frames.receive(sock)
        assert reply["status"] == "ok", reply
        assert int.from_bytes(os.pread(fd, 4, 0), "little") == number
        os.close(fd)
    frames.send(sock, {"kind": "compile", "stay": True})  # its sandbox is that of another kind
    assert ended(pidfd) and sock.recv(1) == b""
    sock.close()
    os.close(pidfd)


def test_a_child_that_runs_python_does_not_stay(client, tools):
    sock, _, pidfd = client.start({**tools.request(SOURCE, "ModelNew"), "stay": True})
    assert frames.receive(sock)[0]["status"] == "ok"
    assert ended(pidfd)
    sock.close()
    os.close(pidfd)


def test_closures_and_repeated_names(client, tools):
    source = SOURCE.replace("silu, 128)", "times_three, 128)")
    reply, _ = client.run(tools.request(source, "ModelNew"))
    assert reply["status"] == "ok", reply
    compiled, _ = client.run({"kind": "compile", "source": source, "file": "model.py",
                              "arch": "sm_90", "kernels": reply["kernels"]})
    assert "scale = tl.constexpr(3.0)" in compiled["kernels"][1]["slice"]
    assert "def scaled(v):" in compiled["kernels"][1]["slice"]


HOSTILE = {
    "import in a body": "    import os\n",
    "dunder attribute": "    y = x.__class__\n",
    "underscore attribute": "    y = x._semantic\n",
    "unknown name": "    y = open\n",
    "getattr": "    y = getattr(x, 'handle')\n",
    # Triton takes a name that no value has yet from its own builtins.
    "getattr before a local of its name": "    y = getattr(x, 'handle')\n    getattr = 1\n",
    "getattr under a loop's name": "    for getattr in range(2):\n        y = 1\n",
    "handle": "    y = x.handle\n",
    "module of the compiler": "    y = tl.core\n",
    "member of the compiler": "    y = tl.core.builtin\n",
    "a type by its width, of something else": "    y = x.core.get_int_dtype(32, True)\n",
    "triton runtime": "    y = triton.runtime\n",
    "nested function": "    def f(a):\n        return a\n",
    "lambda": "    y = (lambda a: a)(x)\n",
    "global": "    global tl\n",
    "try": "    try:\n        pass\n    finally:\n        pass\n",
    "with": "    with x:\n        pass\n",
    "walrus": "    y = (z := 1)\n",
    "extern library": "    y = tl.extern_elementwise('a', '/tmp/evil.bc', [x], {}, True)\n",
    "exec": "    exec('1')\n",
    "a call in what is raised": "    raise open('/etc/passwd')\n",
    "an exception that is caught nowhere": "    y = ValueError\n",
    "Python's own exception": "    raise SystemExit(1)\n",
    "a builder of the language": "    y = tl.core.builtin(x)\n",
    "a private function of the compiler": "    y = tl.core._unwrap_if_constexpr(x)\n",
    "a clock": "    y = tl.extra.cuda.globaltimer()\n",
}


def raw_kernel(line, bindings, constexprs, name="f"):
    params = [{"name": "x", "type": "*fp32"}]
    params += [{"name": name, "type": "constexpr"}] * len(constexprs)
    return {"name": "kernel", "params": params, "constexprs": constexprs,
            "attrs": {}, "options": {}, "function": 0,
            "functions": [{"name": "kernel", "line": line, "globals": bindings}]}


TRITON = {"tl": {"module": "triton.language"}, "triton": {"module": "triton"}}


def compile_body(client, body, bindings=TRITON, head="@triton.jit\ndef kernel(x):\n",
                 constexprs={}, name="f"):
    source = head + body + "    tl.store(x, 1.0)\n"
    line = next(i for i, text in enumerate(source.split("\n"), 1) if text.startswith("@")
                or text.startswith("def other"))
    reply, _ = client.run({"kind": "compile", "source": source, "file": "m.py", "arch": "sm_90",
                           "kernels": [raw_kernel(line, bindings, constexprs, name)]})
    return reply


def test_a_plain_body_compiles(client):
    assert compile_body(client, "    y = tl.load(x)\n")["status"] == "ok"


def test_a_type_may_be_named_by_its_width(client):
    body = ("    y = tl.load(x)\n"
            "    bits = y.to(tl.core.get_int_dtype(y.dtype.primitive_bitwidth, signed=True), bitcast=True)\n"
            "    y = bits.to(tl.float32, bitcast=True)\n")
    reply = compile_body(client, body)
    assert reply["status"] == "ok", reply


EVERY = {**TRITON, "core": {"module": "triton.language.core"}, "LIMIT": {"constexpr": 7},
         "_log2": {"attribute": "triton.language.standard._log2"}}

# What kernels of public libraries say.
REAL = {
    "raise where constants rule it out":
        "    if LIMIT > 8:\n        raise NotImplementedError(f'no {LIMIT}')\n",
    "raise from": "    if LIMIT > 8:\n        raise ValueError('no') from None\n",
    "a kind of argument": "    tl.static_assert(not isinstance(x, tl.tensor_descriptor))\n",
    "the language by the module that defines it": "    y = core.reshape(core.full((4, 4), 0, core.int32), (16,))\n",
    "the language by two names": "    y = tl.core.arange(0, 4) + tl.standard.sum(tl.zeros((4,), tl.int32))\n",
    "a private function of the language": "    tl.static_assert(_log2(8) == 3)\n",
    "dependent launches": "    tl.extra.cuda.gdc_wait()\n    tl.extra.cuda.gdc_launch_dependents()\n",
    "the size of a program": "    y = tl.extra.cuda.num_warps() + tl.extra.cuda.num_threads()\n",
    "inline assembly": "    y = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [tl.load(x)], dtype=tl.float32,\n"
                       "                                  is_pure=True, pack=1)\n",
}


@pytest.mark.parametrize("name", sorted(REAL))
def test_bodies_of_real_kernels(name, client):
    reply = compile_body(client, REAL[name], EVERY)
    assert reply["status"] == "ok", reply


@pytest.mark.parametrize("head", [
    "@triton.jit\ndef kernel(x: tl.const) -> None:\n",
    "@triton.jit\ndef kernel(x) -> tuple[int, tl.tensor]:\n",
    "@triton.jit\ndef kernel(x) -> tuple[tuple[int, print(1)], int]:\n"])
def test_annotations_of_real_kernels(head, client):
    reply = compile_body(client, "", head=head.replace(": tl.const)", ", y: tl.const)"), **(
        {"constexprs": {"1": 1}, "name": "y"} if "tl.const" in head else {}))
    assert reply["status"] == "ok", reply
    assert "print" not in reply["kernels"][0]["slice"] and "[" not in reply["kernels"][0]["slice"]


@pytest.mark.parametrize("head", [
    "@triton.jit\ndef kernel(x, n: tl.constexpr = LIMIT):\n",
    "@triton.jit\ndef kernel(x, *, n: tl.constexpr = LIMIT):\n",
    "@triton.jit\ndef kernel(x, n: tl.constexpr = tl.float32):\n"])
def test_a_default_may_be_a_constant(head, client):
    value = {"dtype": "fp32"} if "float32" in head else 7
    reply = compile_body(client, "", EVERY, head=head, constexprs={"1": value}, name="n")
    assert reply["status"] == "ok", reply
    assert "LIMIT = tl.constexpr(7)" in reply["kernels"][0]["slice"]


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_bodies_that_would_run_python_are_refused(name, client):
    reply = compile_body(client, HOSTILE[name])
    assert reply["status"] == "refused" and reply["code"] == "slice", reply
    assert reply["line"] is not None


def test_a_misspelled_name_is_told_from_one_that_is_forbidden(client):
    reply = compile_body(client, "    tl.stor(x, 1.0)\n")
    assert reply["message"] == (
        "in kernel function kernel, tl.stor does not exist: is it tl.store?"), reply
    reply = compile_body(client, "    y = tl.qqqqqq(x)\n")
    assert reply["message"].endswith("tl.qqqqqq does not exist"), reply
    reply = compile_body(client, "    y = tl.core\n")
    assert "tl.core is a module" in reply["message"], reply
    reply = compile_body(client, "    y = triton.jit\n")
    assert "triton.jit is not allowed" in reply["message"], reply


@pytest.mark.parametrize("binding", [
    {"module": "os"}, {"module": "triton.runtime.driver"}, {"attribute": "os.system"},
    {"attribute": "triton.language.core"}, {"attribute": "triton.language.extern_elementwise"},
    {"attribute": "triton.language.core._unwrap_if_constexpr"}, {"attribute": "triton.language.core.builtin"},
    {"members": {"f": {"module": "os"}}}, {"members": {"f": {"attribute": "os.system"}}}, {"members": 3},
    {"members": {"f": {"members": {"g": {"constexpr": 1}}}}}, {"members": {"__a": {"constexpr": 1}}},
    {"constexpr": {"a": 1}}, {"constexpr": [1]}, {"dtype": "fp33"}, {"function": 7},
    {"function": -1}, {"what": 1}, [1], {}, {"constexpr": 1, "dtype": "fp32"}])
def test_bindings_are_not_believed(binding, client):
    reply = compile_body(client, "    y = helper\n", {**TRITON, "helper": binding})
    assert reply["status"] == "refused" and reply["code"] == "slice", reply


@pytest.mark.parametrize("constexpr", [
    {"function": "__builtins__"}, {"function": "tl"}, {"function": "missing"}])
def test_a_constexpr_function_is_one_of_the_slice(constexpr, client):
    reply = compile_body(client, "", head="@triton.jit\ndef kernel(x, f: tl.constexpr):\n",
                         constexprs={"1": constexpr})
    assert reply["status"] == "refused" and reply["code"] == "slice", reply


def test_a_global_has_one_spelling(client):
    """Python reads identifiers in normal form: these letters would bind tl."""
    reply = compile_body(client, "", {**TRITON, "\uff54\uff4c": {"constexpr": 3}})
    assert reply["status"] == "refused" and reply["code"] == "slice", reply


# Characters at which str.splitlines breaks lines and Python does not.
@pytest.mark.parametrize("character", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_the_checked_function_is_the_compiled_one(character, client):
    hidden = "'''\ndef kernel(x=print(1)):\n    tl.store(x, 2.0)\n'''\n"
    head = "# %s\n%s@triton.jit\ndef kernel(x):\n" % (4 * character, hidden)
    reply = compile_body(client, "", head=head)
    assert reply["status"] == "ok", reply
    assert "def kernel(x):" in reply["kernels"][0]["slice"]
    assert "print" not in reply["kernels"][0]["slice"]


@pytest.mark.parametrize("head", [
    "@triton.jit\ndef kernel(x=print(1)):\n", "@triton.jit\ndef kernel(x: print(1)):\n",
    "@triton.jit\ndef kernel(x) -> print(1):\n", "@triton.jit\ndef kernel(x, *more):\n",
    "@triton.jit\ndef kernel(x) -> print(1)[int]:\n", "@triton.jit\ndef kernel(x) -> tl.tuple[int]:\n",
    "@triton.jit\ndef other(x):\n"])
def test_signatures_run_nothing(head, client):
    reply = compile_body(client, "", head=head)
    assert reply["status"] == "refused" and reply["code"] == "slice", reply


def test_tl_is_triton(client):
    reply = compile_body(client, "", {"tl": {"constexpr": 3}})
    assert reply["status"] == "refused" and reply["code"] == "slice"


def test_a_compile_error_is_the_sources_fault(client):
    reply = compile_body(client, "    y = tl.arange(0, 3)\n")
    assert reply["status"] == "refused" and reply["code"] == "compile"
    assert "power of 2" in reply["message"]
