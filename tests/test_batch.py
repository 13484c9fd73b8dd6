"""`verify --batch`: the same verdicts as one by one, nothing judged twice, faults, going on."""

import concurrent.futures
import contextlib
import ctypes
import fcntl
import json
import os
import signal
import subprocess
import time

import pytest

import command
from command import SINE_MODEL, run

PR_SET_CHILD_SUBREAPER = 36

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def add_sine(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, {result}, mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        add_sine[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
"""
RIGHT = KERNEL.format(result="tl.sin(x) + x")
WRONG = KERNEL.format(result="tl.sin(x) + 1.01 * x")
NO_KERNEL = "import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.sin(x) + x\n"
BROKEN_MODEL = SINE_MODEL.replace("torch.sin(x) + x", "torch.sin(x) + y")


def line(name, candidate, reference=SINE_MODEL, **more):
    return {"id": name, "reference_text": reference, "candidate_text": candidate, **more}


def write(folder, lines):
    batch = folder / "batch.jsonl"
    batch.write_text("".join(json.dumps(item) + "\n" for item in lines))
    return batch


def results_of(folder):
    lines = (folder / "batch.jsonl.results.jsonl").read_text().splitlines()
    results = [json.loads(text) for text in lines]
    assert len({r["id"] for r in results}) == len(results)
    return {r["id"]: r for r in results}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """One batch of many kinds: the process and its results by id."""
    folder = tmp_path_factory.mktemp("batch")
    (folder / "model.py").write_text(SINE_MODEL)
    (folder / "candidate.py").write_text(RIGHT)
    process = run("verify", "--backend", "cpu", "--jobs", 2, "--executors", 2, "--batch",
                  write(folder, [
        line("right", RIGHT),
        line("identical", RIGHT),
        line("other text", "# the same kernel\n" + RIGHT),
        line("wrong", WRONG),
        line("no kernel", NO_KERNEL),
        line("no syntax", RIGHT.replace("def forward", "def def forward")),
        line("broken reference", RIGHT, BROKEN_MODEL),
        line("other class", RIGHT.replace("ModelNew", "Mine"), candidate_class="Mine"),
        {"id": "files", "reference": "model.py", "candidate": "candidate.py"},
    ]))
    return process, results_of(folder)


def test_every_item_has_its_outcome(judged):
    process, results = judged
    assert process.returncode == 2, process.stderr  # a reference is at fault
    outcomes = {name: r.get("outcome", "fault") for name, r in results.items()}
    assert outcomes == {
        "right": "accepted", "identical": "accepted", "other text": "accepted",
        "wrong": "rejected", "no kernel": "rejected", "no syntax": "rejected",
        "broken reference": "fault", "other class": "accepted", "files": "accepted"}
    assert results["wrong"]["rejected_at"] == "correct"
    assert results["no kernel"]["rejected_at"] == "load"
    assert "name 'y' is not defined" in results["broken reference"]["fault"]


def test_the_same_is_judged_once(judged):
    results = judged[1]
    same = {name: r.get("same_as") for name, r in results.items() if r.get("same_as")}
    # Which of several programs comes first is up to their threads.
    group = ["right", "identical", "other text", "other class"]
    first = {same.get(name, name) for name in group}
    assert len(first) == 1
    assert results["right"]["key"] == results["other text"]["key"] == results["other class"]["key"]


def test_verdicts_are_those_of_single_files(judged, tmp_path):
    (tmp_path / "model.py").write_text(SINE_MODEL)
    for name, text in (("right", RIGHT), ("wrong", WRONG), ("no kernel", NO_KERNEL)):
        (tmp_path / "candidate.py").write_text(text)
        process = run("verify", tmp_path / "model.py", tmp_path / "candidate.py", "--backend", "cpu",
                      "--json")
        verdict = json.loads(process.stdout)
        for field in ("outcome", "rejected_at", "share", "key"):
            assert verdict[field] == judged[1][name][field], (name, field)


def test_a_run_that_was_killed_goes_on(tmp_path):
    candidates = {str(i): KERNEL.format(result="tl.sin(x) + x + 0.0 * %d" % i) for i in range(8)}
    batch = write(tmp_path, [line(name, text) for name, text in candidates.items()])
    out = tmp_path / "batch.jsonl.results.jsonl"
    arguments = ["verify", "--backend", "cpu", "--jobs", "1", "--trials", "1", "--batch", str(batch)]
    process = subprocess.Popen([command.binary(), *arguments], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while (not out.exists() or out.read_text().count("\n") < 2) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = out.read_text()
    assert 2 <= before.count("\n") < len(candidates)
    with out.open("a") as file:
        file.write('{"degenerate":false,"dig')  # as if the end had come in the middle of a line
    process = run(*arguments)
    assert process.returncode == 0, process.stderr
    after = out.read_text()
    assert after.startswith(before)
    assert sorted(results_of(tmp_path)) == sorted(candidates)
    again = run(*arguments)
    assert again.returncode == 0
    assert out.read_text() == after


def test_two_runs_do_not_write_one_file(tmp_path):
    """The other run is in the middle of a line, which the second one must not take for a killed run's."""
    out = tmp_path / "batch.jsonl.results.jsonl"
    out.write_text('{"degenerate":false,"dig')
    with out.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        process = run("verify", "--backend", "cpu", "--batch", write(tmp_path, [line("a", NO_KERNEL)]))
    assert process.returncode == 2 and "another run writes it" in process.stderr
    assert out.read_text() == '{"degenerate":false,"dig'


def test_results_of_another_batch_stay(tmp_path):
    batch = write(tmp_path, [line("a", NO_KERNEL)])
    assert run("verify", "--backend", "cpu", "--batch", batch).returncode == 0
    before = (tmp_path / "batch.jsonl.results.jsonl").read_text()
    write(tmp_path, [line("a", WRONG)])
    process = run("verify", "--backend", "cpu", "--batch", batch)
    assert process.returncode == 2
    assert "belongs to another batch" in process.stderr
    write(tmp_path, [line("a", NO_KERNEL)])
    process = run("verify", "--backend", "cpu", "--batch", batch, "--seed", "5")  # other inputs
    assert process.returncode == 2, process.stdout
    assert (tmp_path / "batch.jsonl.results.jsonl").read_text() == before


IMPORTING = "from helpers import add_sine\n" + RIGHT[RIGHT.index("class ModelNew"):]
IMPORTING = "import torch\nimport triton\n" + IMPORTING
HELPERS = RIGHT[:RIGHT.index("class ModelNew")]


def test_a_changed_module_is_another_batch(tmp_path):
    """Files of the folder that a candidate may import decide its verdict, and others do not."""
    (tmp_path / "new.py").write_text(IMPORTING)
    (tmp_path / "helpers.py").write_text(HELPERS)
    batch = write(tmp_path, [{"id": "a", "reference_text": SINE_MODEL, "candidate": "new.py"}])
    flags = ("verify", "--backend", "cpu", "--trials", 1, "--batch", batch)
    assert run(*flags).returncode == 0
    assert results_of(tmp_path)["a"]["outcome"] == "accepted"
    (tmp_path / "another.py").write_text("changed = 1")
    assert run(*flags).returncode == 0
    (tmp_path / "helpers.py").write_text(HELPERS.replace("tl.sin(x) + x", "tl.sin(x) + 1.01 * x"))
    process = run(*flags)
    assert process.returncode == 2 and "belongs to another batch" in process.stderr
    assert run(*flags, "--out", tmp_path / "again.jsonl").returncode == 0
    assert json.loads((tmp_path / "again.jsonl").read_text())["outcome"] == "rejected"


def test_a_candidate_may_lie_deep_in_a_package(tmp_path):
    """Its imports lead to the folders above, which the sandbox shows although they are below /tmp."""
    for name in ("lib", "lib/ops", "lib/ops/deep"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / "lib" / "helpers.py").write_text(HELPERS)
    new = tmp_path / "lib" / "ops" / "deep" / "new.py"
    new.write_text(IMPORTING.replace("from helpers", "from ...helpers"))
    (tmp_path / "model.py").write_text(SINE_MODEL)
    single = run("verify", tmp_path / "model.py", new, "--backend", "cpu", "--trials", 1, "--run-file")
    assert single.returncode == 0, single.stdout
    assert "the file does the same" in single.stdout
    batch = write(tmp_path, [{"id": "a", "reference": "model.py", "candidate": "lib/ops/deep/new.py"}])
    assert run("verify", "--backend", "cpu", "--trials", 1, "--batch", batch).returncode == 0
    assert results_of(tmp_path)["a"]["outcome"] == "accepted"


def test_a_sample_of_exports_is_recorded_again(tmp_path):
    other = RIGHT.replace("256", "128")
    batch = write(tmp_path, [line("a", RIGHT), line("same", RIGHT), line("b", other), line("c", WRONG)])
    flags = ("verify", "--backend", "cpu", "--trials", 1, "--batch", batch)
    assert "recorded again" not in run(*flags, "--record-again", 0).stdout
    results = results_of(tmp_path)
    assert {r["recorded_again"] for r in results.values()} == {None}
    out = tmp_path / "batch.jsonl.results.jsonl"
    out.unlink()
    process = run(*flags, "--record-again", 1)
    assert process.returncode == 0 and "2 exports recorded again, 2 equal" in process.stdout
    results = results_of(tmp_path)
    assert {name: r["recorded_again"] for name, r in results.items()} \
        == {"a": "equal", "same": "equal", "b": "equal", "c": None}
    # What is not equal is said loudly, and again when the run goes on.
    broken = [{**r, "recorded_again": "it records as another one"} if name == "b" else r for name, r in results.items()]
    out.write_text("".join(json.dumps(r, sort_keys=True, separators=(",", ":")) + "\n" for r in broken))
    process = run(*flags, "--record-again", 1)
    assert process.returncode == 3 and "2 exports recorded again, 1 equal" in process.stdout
    assert "of 2 exports recorded again, 1 gave another program than was judged" in process.stderr
    assert run(*flags, "--record-again", 1.5).returncode == 2


def test_what_cannot_be_exported_is_rejected_with_that_reason(tmp_path):
    """No --out is asked for: a verdict is about a program that can be handed out."""
    (tmp_path / "model.py").write_text(SINE_MODEL.replace("class Model(torch.nn.Module):\n", """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        weight = torch.randn(1000)
        self.added = lambda x: x + weight

""").replace("+ x", "+ self.added(x)"))
    (tmp_path / "new.py").write_text(
        RIGHT.replace("(x_ptr, y_ptr,", "(x_ptr, w_ptr, y_ptr,").replace("+ x,", "+ x + tl.load(w_ptr + at, mask=at < n),")
        .replace("    def forward", "    def __init__(self):\n        super().__init__()\n"
                 "        self.w = torch.nn.Parameter(torch.randn(1000))\n\n    def forward").replace("](x, y,", "](x, self.w, y,"))
    reason = ("forward uses a tensor that no attribute of the model holds: assign it to self, or register it as "
              "a buffer [export]")
    single = run("verify", tmp_path / "model.py", tmp_path / "new.py", "--backend", "cpu", "--trials", 1)
    assert single.returncode == 1 and single.stdout.startswith("rejected at record: ") and reason in single.stdout
    batch = write(tmp_path, [{"id": "a", "reference": "model.py", "candidate": "new.py"}])
    assert run("verify", "--backend", "cpu", "--trials", 1, "--batch", batch).returncode == 0
    result = results_of(tmp_path)["a"]
    assert (result["outcome"], result["rejected_at"]) == ("rejected", "record") and reason in result["reason"]


@pytest.mark.parametrize("text, says", [
    ('{"id": "a"}', "expected one of reference (a path) and reference_text"),
    ('{"id": "a", "reference_text": "", "candidate": "nowhere.py"}', "nowhere.py: cannot be read"),
    ('{"id": 3}', "expected one of reference"),
    ('{"reference_text": "", "candidate_text": "", "seed": 3}', "unknown member seed"),
    ("{", "batch.jsonl:2"),
    ("", "holds no candidates"),
])
def test_a_broken_line_is_named(tmp_path, text, says):
    batch = tmp_path / "batch.jsonl"
    batch.write_text("\n" + text + "\n")
    process = run("verify", "--backend", "cpu", "--batch", batch)
    assert process.returncode == 2
    assert says in process.stderr


@pytest.mark.parametrize("flags, says", [
    (("model.py",), "model.py is one too many"),
    (("--set", "N=4"), "--set is for one model"),
])
def test_a_batch_brings_its_own_models(tmp_path, flags, says):
    process = run("verify", *flags, "--backend", "cpu", "--batch",
                  write(tmp_path, [line("a", RIGHT)]))
    assert process.returncode == 2
    assert says in process.stderr


def test_two_lines_cannot_have_one_id(tmp_path):
    process = run("verify", "--backend", "cpu", "--batch",
                  write(tmp_path, [line("a", RIGHT), line("a", WRONG)]))
    assert process.returncode == 2
    assert "another line has the id a too" in process.stderr


# In namespaces of its own, where anybody may mount: a disk that is full, at the first argument.
FULL_DISK = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
             'mount -t tmpfs -o size=4k none "$0" && head -c 4096 /dev/zero >"$0/rest" && "$@"']


def test_a_full_disk_is_said_and_gone_on_from(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run([*FULL_DISK, str(disk), "true"], capture_output=True).returncode != 0:
        pytest.skip("mounting needs user namespaces")
    batch = write(tmp_path, [line("a", NO_KERNEL)])
    process = run("verify", "--backend", "cpu", "--batch", batch, "--out", disk / "results.jsonl",
                  prefix=[*FULL_DISK, str(disk)])
    assert process.returncode == 3
    assert "No space left on device" in process.stderr


def processes_below(pid):
    """The processes that `pid` started, and theirs, with their command lines."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
            with open("/proc/%s/cmdline" % name) as words:
                found[int(name)] = parent, words.read().replace("\0", " ")
        except OSError:
            pass
    below, frontier = {}, {pid}
    while frontier:
        frontier = {p for p, (parent, _) in found.items() if parent in frontier}
        below.update({p: found[p][1] for p in frontier})
    return below


# What a global of the worker's is found by, up the stack.
OF_WORKER = "import sys\nframe = sys._getframe()\nwhile '%s' not in frame.f_globals:\n    frame = frame.f_back\n"

# Threads that hold no lock of Python's: the code is a jump to itself.
THREAD_BOMB = """import ctypes, mmap
page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\\xeb\\xfe")
code = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page)))
attributes, thread = ctypes.create_string_buffer(64), ctypes.c_ulong()
ctypes.CDLL(None).pthread_attr_init(attributes)
ctypes.CDLL(None).pthread_attr_setstacksize(attributes, ctypes.c_size_t(1 << 14))
while True:
    ctypes.CDLL(None).pthread_create(ctypes.byref(thread), attributes, code, None)
"""

# What a module beside a candidate does, which is not asked what it looks at, before the candidate is
# defined -> what the rejection says; "" when it harms nobody and is judged like any other; None when
# that is up to the machine's speed.
HOSTILE = {
    "endless Python": ("while True:\n    pass\n", "took longer than 10 s"),
    "fork bomb": ("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n",
                  "took longer than 10 s"),
    "thread bomb": (THREAD_BOMB, "took longer than 10 s"),
    "100 GB": ("held = bytearray(100 << 30)\n", "MemoryError"),
    "100 GB, piecemeal": ("held = []\nwhile True:\n    held.append(bytearray(1 << 28))\n", None),
    "1 GB of output": ("import sys\nfor _ in range(1 << 10):\n    sys.stdout.write('x' * (1 << 20))\n", None),
    "a file of 10 GB": ("import tempfile\nwith tempfile.TemporaryFile() as file:\n"
                        "    for _ in range(10 << 10):\n        file.write(bytes(1 << 20))\n", "raised"),
    "its end": ("import os\nos._exit(0)\n", "exited with status 0 without an answer"),
    "a limit that kills": ("import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True:\n    pass\n",
                           "Kernelwright's worker fails on this program, and not on another"),
    "a failure of its worker's": (OF_WORKER % "frames" + "frames = frame.f_globals['frames']\n_send = frames.send\n"
                                  "frames.send = lambda sock, *_: _send(sock, {'status': 'failed', 'message': 'no space'})\n",
                                  "Kernelwright's worker fails on this program, and not on another: no space"),
    "a worker's refusal": (OF_WORKER % "Refused" + "raise frame.f_globals['Refused']('unsupported', 'interpreter')\n",
                           "interpreter [unsupported]"),
    "exit code 4": ("import os\nos._exit(4)\n", "exited with status 4 without an answer"),
    "its socket closed": ("import os\nos.closerange(3, 64)\n", "without an answer"),
    "its parent's end": ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n", None),
    "an endless thread": ("import threading\ndef spin():\n    while True:\n        pass\n"
                          "threading.Thread(target=spin).start()\n", ""),
}


@contextlib.contextmanager
def adopted_orphans():
    """Meanwhile what outlives its parent becomes a child of this process. Gives a function that says which there are:
    not those that were here before, which fixtures of other files keep."""
    libc = ctypes.CDLL(None)
    before = set(processes_below(os.getpid()))
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1) == 0
    try:
        yield lambda: {pid: words for pid, words in processes_below(os.getpid()).items() if pid not in before}
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0)


def expect_none(orphans):
    """Adopted orphans end within seconds. Those that have ended are reaped, as init would: one that was killed
    after its parent is left to this process."""
    deadline = time.monotonic() + 10
    while (left := orphans()) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.05)
    assert not left


def test_hostile_candidates_harm_nobody(tmp_path):
    started = time.monotonic()
    lines = []
    for i, (name, (code, _)) in enumerate(HOSTILE.items()):
        (tmp_path / f"hostile_{i}.py").write_text(code)
        (tmp_path / f"candidate_{i}.py").write_text(f"import hostile_{i}\n" + RIGHT)
        lines.append({"id": name, "reference_text": SINE_MODEL, "candidate": f"candidate_{i}.py"})
    batch = write(tmp_path, [*lines, line("honest", WRONG), line("right", RIGHT)])
    with adopted_orphans() as orphans:
        check_hostile_candidates(batch, tmp_path)
        expect_none(orphans)
    assert time.monotonic() - started < 400


def check_hostile_candidates(batch, tmp_path):
    process = run("verify", "--backend", "cpu", "--jobs", 2, "--executors", 2, "--trials", 1,
                  "--record-timeout", 10,
                  "--batch", batch, timeout=500)
    results = results_of(tmp_path)
    assert set(results) == set(HOSTILE) | {"honest", "right"}, process.stderr
    assert results["right"]["outcome"] == "accepted"
    assert results["honest"]["rejected_at"] == "correct"
    for name, (_, says) in HOSTILE.items():
        result = results[name]
        if says == "":
            assert result["outcome"] == "accepted", (name, result)
        elif says is not None:
            assert result["rejected_at"] == "record", (name, result)
            assert says in result["reason"], (name, result)


# A kernel that writes far outside of its buffer, and one that never ends. What no device runs says
# nothing of a candidate when it takes too long: the interpreter is slow.
WILD = RIGHT.replace("y_ptr + at, tl.sin(x) + x", "y_ptr + at * 1000003, tl.sin(x) + x")
ENDLESS = RIGHT.replace("    tl.store(", "    while n > 0:\n        x += 1.0\n    tl.store(")


def test_the_batch_goes_on_after_kernels_that_break_the_device(tmp_path):
    assert WILD != RIGHT != ENDLESS
    others = {"right %d" % i: "# %d\n" % i + RIGHT for i in range(2)}
    batch = write(tmp_path, [line("wild", WILD), line("endless", ENDLESS), line("wrong", WRONG)] +
                  [line(name, text) for name, text in others.items()])
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with adopted_orphans() as orphans:
        process = run("verify", "--backend", "cpu", "--jobs", 2, "--trials", 1, "--trial-timeout", 100,
                      "--batch", batch, env={"TMPDIR": str(temporary)})
        expect_none(orphans)
    results = results_of(tmp_path)
    assert process.returncode == 0, process.stderr
    outcomes = {name: r["outcome"] for name, r in results.items()}
    assert outcomes == {"wild": "rejected", "endless": "rejected", "wrong": "rejected",
                        **{name: "accepted" for name in others}}
    assert results["wild"]["rejected_at"] == "correct"
    assert "outside" in results["wild"]["reason"]
    assert results["endless"]["reason"].endswith("[work]")
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("victim", ["zygote.py --socket", "kernelwright-executor"])
def test_the_batch_survives_the_death_of(tmp_path, victim, monkeypatch):
    monkeypatch.delenv("KERNELWRIGHT_ZYGOTE", raising=False)  # one of its own, to be killed
    candidates = {str(i): KERNEL.format(result="tl.sin(x) + x + 0.0 * %d" % i) for i in range(6)}
    batch = write(tmp_path, [line(name, text) for name, text in candidates.items()])
    out = tmp_path / "batch.jsonl.results.jsonl"
    process = subprocess.Popen(
        [command.binary(), "verify", "--backend", "cpu", "--jobs", "2", "--trials", "1", "--batch",
         str(batch)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        ended = pool.submit(process.communicate, timeout=240)
        while not (out.exists() and out.read_text().count("\n") >= 1) and not ended.done():
            time.sleep(0.05)
        below = processes_below(process.pid)
        killed = [pid for pid, words in below.items() if victim in words]
        assert killed, below
        for pid in killed:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        ended.result()
    assert process.returncode in (0, 4), ended.result()
    results = results_of(tmp_path)
    assert sorted(results) == sorted(candidates)
    others = [r for r in results.values() if r["outcome"] != "accepted"]
    # A launch that was under way in the interpreter has written to its buffers: not judged.
    assert len(others) <= (1 if "zygote" in victim else 0)
    assert all(r["outcome"] == "not judged" and "killed" in r["reason"] for r in others)
    assert not [pid for pid in below if os.path.exists("/proc/%d" % pid)]
