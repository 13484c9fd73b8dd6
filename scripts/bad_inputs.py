#!/usr/bin/env python3
"""Gives every command bad input, and checks what docs/exit-codes.md promises of it.

    scripts/bad_inputs.py [--program build/kernelwright] [--only WORDS] [--cheap] [--list]

Each kind of bad input runs in a folder of its own. It must end in time with the expected exit code
and message. It must print no traceback, need less than 2 GB, and leave every file as it was that
was there before. The table of kinds is at the end; expected values are from the documentation.
Exits with 1 on any miss.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = 150  # that a command may take
MOST_MB = 2000

MODEL = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.0


def get_inputs():
    return [torch.randn(40, 30)]


def get_init_inputs():
    return []
"""

CANDIDATE = """import torch
import triton
import triton.language as tl


@triton.jit
def doubled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.maximum(x, 0.0) * 2.0, mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, a0):
        out = torch.empty_like(a0)
        n = a0.numel()
        doubled[(triton.cdiv(n, 256),)](a0, out, n, BLOCK=256)
        return out
"""

RECIPE = """[run]
kind = "sft"
device = "cpu"

[model]
tokenizer = "%s"
width = 64
layers = 1
heads = 2
kv_heads = 1
inner = 64
context = 512

[data]
levels = [1]
operators = ["ReLU"]
programs = 4
log_low = 10
log_high = 14

[sft]
steps = 1
tokens = 512
row = 512
validation = 1
""" % (ROOT / "models/embedded/tokenizer.json")

LINE = {"id": "a", "reference_text": MODEL, "candidate_text": CANDIDATE}


# ---- What is in a kind's folder


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_text(text)


def put_size(path, size):
    """A file of this size that takes no room on the disk."""
    with open(path, "wb") as file:
        file.truncate(size)


def put_socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(path.parent)  # a socket's name is short
        listener.bind(path.name)
        os.chdir(here)


def put_lines(path, *lines):
    put(path, "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))


def put_tasks(path, count=3):
    """Tasks as `synth --no-hygiene` draws them."""
    subprocess.run([PROGRAM, "synth", "--no-hygiene", "--level", "2", "--count", str(count), "--out", path],
                   check=True, stdout=subprocess.DEVNULL)


def put_run(folder):
    """What `eval --out` leaves of a model without a sample."""
    asked = {"flags": {"--policy": ["teacher"], "suite": ["model.py"]}, "policies": [["teacher", ""]],
             "labels": ["teacher"], "versions": {}, "backend": "cpu", "device": "h200", "models": ""}
    line = {"model": "model.py", "files": "model", "outcome": "refused", "reason": "no family", "samples": []}
    put_lines(folder / "lines.jsonl", {"eval": asked}, line)


def put_bundle(folder):
    """What the mark of a bundle is looked for in."""
    put(folder / "program.json", '{"format": "kernelwright.task"}')
    put(folder / "kernels" / ("0" * 64 + ".py"), "")


@dataclasses.dataclass
class Kind:
    command: str  # words of the command line, by blanks; {} is the folder
    what: str  # what is bad
    code: int
    says: typing.Any  # part of the message, or several
    make: typing.Callable = lambda folder: None  # of the folder
    env: dict = dataclasses.field(default_factory=dict)
    stdout: str = "pipe"  # or full, closed, gone
    closed: tuple = ()  # other standard streams that are closed
    gone: bool = False  # the working folder
    workers: bool = False  # whether processes with torch are started: seconds
    words: tuple = ()  # further ones, with blanks in them
    prints: bool = False  # the message is a result, on stdout

    @property
    def name(self):
        words = [word for word in self.command.split() if not word.startswith("{")]
        return "%s: %s" % (" ".join(words[:2]), self.what)


def tree(folder):
    """Every path below the folder with its kind, mode and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        if stat.S_ISLNK(about.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(about.st_mode) and about.st_blocks * 512 >= min(about.st_size, 1 << 22):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = (about.st_size, about.st_mtime_ns if stat.S_ISREG(about.st_mode) else 0)
        found[str(path.relative_to(folder))] = (about.st_mode, content)
    return found


def memory_of(root):
    """Bytes that a process and its descendants hold now. Of pages that they share, each has its part."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            about = pathlib.Path("/proc/%s/stat" % name).read_text()
            parents[int(name)] = int(about.rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            pass
    family, young = set(), {root}
    while young:
        family |= young
        young = {pid for pid, parent in parents.items() if parent in young} - family
    held = 0
    for pid in family:
        try:
            rollup = pathlib.Path("/proc/%d/smaps_rollup" % pid).read_text()
            held += 1024 * int(re.search(r"^Pss:\s+(\d+)", rollup, re.M).group(1))
        except (OSError, AttributeError):
            pass
    return held


class Watch(threading.Thread):
    """The most memory that a command's processes hold at once."""

    def __init__(self, root):
        super().__init__(daemon=True)
        self.root, self.most, self.over = root, 0, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.2):
            self.most = max(self.most, memory_of(self.root))
            if self.most > 1.5e6 * MOST_MB:  # it is a miss already, and others need the memory
                os.killpg(self.root, signal.SIGKILL)
                return

    def end(self):
        self.over.set()
        self.join()
        return self.most


@dataclasses.dataclass
class Outcome:
    code: typing.Any
    text: str
    seconds: float
    megabytes: float
    faults: list


def closes(kind):
    """Run in the child, before the command."""
    def close():
        os.setsid()
        if kind.stdout == "closed":
            os.close(1)
        for number in kind.closed:
            os.close(number)
        if kind.gone:
            os.rmdir(os.getcwd())
    return close


def run(kind, folder):
    """What becomes of a kind in its folder, which is there and empty."""
    kind.make(folder)
    temporary = folder.parent / (folder.name + ".tmp")
    temporary.mkdir(exist_ok=True)
    here = folder.parent / (folder.name + ".gone") if kind.gone else folder
    here.mkdir(exist_ok=True)
    before = tree(folder)
    words = [word.format(folder) for word in kind.command.split()] + list(kind.words)
    out = subprocess.PIPE
    if kind.stdout == "full":
        out = open("/dev/full", "w")
    elif kind.stdout == "gone":
        reader, out = os.pipe()
        os.close(reader)
    env = {**os.environ, "TMPDIR": str(temporary), "KERNELWRIGHT_STORE": str(temporary / "store.sqlite"),
           **{name: value.format(folder) for name, value in kind.env.items()}}
    start = time.monotonic()
    process = subprocess.Popen([PROGRAM, *words], cwd=here, env=env, stdin=subprocess.DEVNULL, stdout=out,
                               stderr=subprocess.PIPE, preexec_fn=closes(kind))
    watch = Watch(process.pid)
    faults = []
    try:
        printed, said = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        faults.append("hung")
        os.killpg(process.pid, signal.SIGKILL)
        printed, said = process.communicate()
    seconds, megabytes = time.monotonic() - start, watch.end() / 1e6
    if kind.stdout == "full":
        out.close()
    elif kind.stdout == "gone":
        os.close(out)
    printed, said = ((text or b"").decode(errors="replace") for text in (printed, said))
    text = printed + said
    if process.returncode != kind.code:
        faults.append("exit code %s, not %s" % (process.returncode, kind.code))
    for part in [kind.says] if isinstance(kind.says, str) else kind.says:
        if part.format(folder) not in (printed if kind.prints else said):
            faults.append("does not say: " + part.format(folder))
    for word in ("internal error", "Traceback", "terminate called", "what():"):
        if word in text:
            faults.append("says: " + word)
    if megabytes > MOST_MB:
        faults.append("takes %.0f MB" % megabytes)
    after = tree(folder)
    for path, content in before.items():
        if after.get(path) != content:
            faults.append("%s is %s" % (path, "changed" if path in after else "deleted"))
    faults += ["left " + path for path in after if ".kernelwright-" in path]
    shutil.rmtree(temporary, ignore_errors=True)
    return Outcome(process.returncode, text, seconds, megabytes, faults)


# ---- The kinds

A_FILE, A_FOLDER = "where a file was expected", "where a folder was expected"
OTHERS = ("holds other files", "choose another --out")


def things(size="16 MiB"):
    """What may be where a file was expected: how it is made at a path, and what is said of it."""
    return [
        ("nothing", lambda path: None, "cannot be read (is it there"),
        ("a folder", lambda path: path.mkdir(), "is a folder, " + A_FILE),
        ("a FIFO", os.mkfifo, "is a FIFO, " + A_FILE),
        ("a socket", put_socket, "is a socket, " + A_FILE),
        ("a device", lambda path: path.symlink_to("/dev/zero"), "is a device, " + A_FILE),
        ("a link to itself", lambda path: path.symlink_to(path.name), "Too many levels of symbolic links"),
        ("too large", lambda path: put_size(path, 1 << 40), "larger than " + size),
    ]


def good(folder):
    put(folder / "model.py", MODEL)
    put(folder / "right.py", CANDIDATE)
    put(folder / "recipe.toml", RECIPE)


def read_kinds():
    """A thing of each type in the place of each file that is read."""
    kinds = []

    def add(command, name, size="16 MiB", make=good, leave=(), workers=False, **more):
        for what, put_thing, says in things(size):
            if what in leave:
                continue

            def build(folder, put_thing=put_thing):
                make(folder)
                put_thing(folder / name)

            kinds.append(Kind(command, "%s is %s" % (name, what), 2, says, build, workers=workers, **more))

    add("verify {}/x.py {}/right.py --backend cpu", "x.py")
    add("verify {}/model.py {}/x.py --backend cpu", "x.py", leave=("a socket", "a link to itself"))
    add("verify --backend cpu --batch {}/x.jsonl", "x.jsonl", "64 MiB")
    add("record {}/x.py", "x.py", leave=("a socket",))
    add("optimize {}/x.py --backend cpu --out {}/out", "x.py", leave=("a socket", "a link to itself"))
    add("eval {}/x.py --backend cpu", "x.py", leave=("a folder", "a socket"))
    add("eval {}/x.jsonl --backend cpu", "x.jsonl", "1024 MiB", leave=("a folder", "a socket"))
    add("report {}/run", "run/lines.jsonl", "1024 MiB", make=lambda folder: (folder / "run").mkdir(),
        leave=("nothing", "a socket", "a link to itself"))
    add("report {}/x.jsonl", "x.jsonl", "1024 MiB", leave=("a folder", "a socket"))
    add("collect {}/x.jsonl --out {}/rows --backend cpu", "x.jsonl", "1024 MiB",
        leave=("a folder", "a socket", "a link to itself"))
    add("review {}/x.jsonl --review-url http://localhost:1/v1 --review-model m", "x.jsonl", "1024 MiB",
        leave=("a folder", "a socket", "a link to itself"))
    add("synth --check {}/x.jsonl --backend cpu", "x.jsonl", "1024 MiB", leave=("a socket",))
    add("synth --stats {}/x.jsonl", "x.jsonl", "64 MiB", leave=("a socket",))
    add("synth --augment {}/x.py --backend cpu --out {}/out.jsonl", "x.py", leave=("a socket",))
    add("selftest {}/x.py --backend cpu", "x.py", leave=("nothing", "a folder", "a socket"))
    add("train {}/x.toml --out {}/out", "x.toml")
    add("recipe export {}/x.toml --to verl --out {}/out", "x.toml", leave=("a socket",))
    add("optimize {}/model.py --backend cpu --out {}/out --schedules {}/tables", "tables/NVIDIA_H200.json", "64 MiB",
        make=lambda folder: (good(folder), (folder / "tables").mkdir()),
        leave=("nothing", "a socket", "a link to itself"))
    return kinds


def written_kinds():
    """What may be at --out, of each command that takes one."""
    def mine(path):
        put(path, "mine")

    files = [  # what is there, how it is made, what is said
        ("a folder", lambda path: path.mkdir(), "is a folder, " + A_FILE),
        ("a FIFO", os.mkfifo, "is a FIFO, " + A_FILE),
        ("a link to a device", lambda path: path.symlink_to("/dev/full"), "is a device, " + A_FILE),
        ("a link to nothing", lambda path: path.symlink_to("nowhere"), "is a link to nothing"),
        ("in no folder", None, "there is no folder {}/nowhere"),
    ]
    folders = [
        ("a file", mine, "is a file, " + A_FOLDER),
        ("a FIFO", os.mkfifo, "is a FIFO, " + A_FOLDER),
        ("a link to a device", lambda path: path.symlink_to("/dev/null"), "is a device, " + A_FOLDER),
        ("a folder with other files", lambda path: mine(path / "thesis.tex"), (*OTHERS, "thesis.tex")),
        ("a folder with a folder", lambda path: (path / "data").mkdir(parents=True), (*OTHERS, "data")),
    ]
    kinds = []

    def add_file(command, others=(), make=good, leave=(), workers=False, flag="--out", **more):
        for what, put_thing, says in [*files, *others]:
            if what in leave:
                continue

            def build(folder, put_thing=put_thing):
                make(folder)
                if put_thing:
                    put_thing(folder / "x")

            place = "{}/x" if put_thing else "{}/nowhere/x"
            kinds.append(Kind("%s %s %s" % (command, flag, place), "%s is %s" % (flag, what), 2, says, build,
                              workers=workers, **more))

    def add_folder(command, others=(), make=good, leave=(), workers=False, **more):
        for what, put_thing, says in [*folders, *others]:
            if what in leave:
                continue

            def build(folder, put_thing=put_thing):
                make(folder)
                put_thing(folder / "x")

            kinds.append(Kind(command + " --out {}/x", "--out is " + what, 2, says, build, workers=workers, **more))
        kinds.append(Kind(command + " --out /proc/kernelwright", "--out is where nothing can be made", 3,
                          "/proc/kernelwright", make, workers=workers, **more))

    def batch(folder):
        put_lines(folder / "batch.jsonl", LINE)

    def run_of(folder):
        put_run(folder / "run")

    def tasks(folder):
        put_tasks(folder / "tasks.jsonl")

    note = ("somebody's note", mine, "choose another --out")
    add_file("synth --no-hygiene --level 2 --count 3", [
        note,
        ("somebody's lines", lambda path: put(path, "mine\nmine\n"), "is no task"),
        ("another run's tasks", lambda path: put_tasks(path, 5), "more than --count 3"),
    ])
    add_file("synth --augment {}/model.py --backend cpu", [note], leave=("a link to nothing",))
    add_file("synth --stats {}/tasks.jsonl", [
        ("somebody's page", lambda path: put(path, "<!DOCTYPE html>mine"), "is no page of Kernelwright"),
        ("the tasks themselves", lambda path: put_tasks(path), "is no page of Kernelwright"),
    ], tasks)
    add_file("report {}/run", [
        ("somebody's page", lambda path: put(path, "<!DOCTYPE html>mine"), "is no page of Kernelwright"),
        ("a model's file", lambda path: put(path, MODEL), "is no page of Kernelwright"),
    ], run_of, leave=("a folder",))
    add_file("report {}/run", [
        ("somebody's table", lambda path: put(path, "name,age\nx,1\n"), "is no table of samples"),
    ], run_of, flag="--csv")
    add_file("verify --backend cpu --batch {}/batch.jsonl", [
        ("somebody's note", mine, "does not end in a result"),
        ("somebody's lines", lambda path: put(path, "mine\n"), "x:1"),
        ("another batch's results", lambda path: put_lines(path, {"id": "b", "digest": "d", "outcome": "accepted"}),
         "belongs to another batch"),
    ], batch)
    add_file("eval {}/model.py --backend cpu", [
        ("somebody's note", mine, "is no file of eval's lines"),
        ("somebody's lines", lambda path: put(path, "mine\n"), "x"),
    ], workers=True, flag="--lines")

    add_folder("record {}/model.py", [
        ("a folder with a file of the same name", lambda path: mine(path / "program.json"), "has no program.json"),
        ("a bundle with a note", lambda path: (put_bundle(path), mine(path / "kernels" / "note.txt")), OTHERS),
        ("a bundle with a link", lambda path: (put_bundle(path), (path / "kernels" / ("1" * 64 + ".py")).symlink_to(
            "/etc/hosts")), OTHERS),
        ("a folder of links", lambda path: (path.mkdir(), (path / "kernels").symlink_to("../model.py")), OTHERS),
    ], workers=True)
    add_folder("optimize {}/model.py --backend cpu", [
        ("a result with a note", lambda path: (put_bundle(path / "bundle"), put(path / "optimized.py", ""),
                                               mine(path / "bundle" / "note.txt")), OTHERS),
        ("a folder with a file of the same name", lambda path: mine(path / "optimized.py"), "has no bundle"),
        ("a folder with a page of the same name", lambda path: mine(path / "report.html"), "has no bundle"),
    ])
    add_folder("eval {}/model.py --backend cpu", [
        ("a folder with answers alone", lambda path: mine(path / "model.0.py"), (*OTHERS, "model.0.py")),
        ("a folder whose lines are a note", lambda path: mine(path / "lines.jsonl"), "is no file of eval's lines"),
        ("a folder whose lines are a FIFO", lambda path: (path.mkdir(), os.mkfifo(path / "lines.jsonl")), "is a FIFO"),
        ("in the suite's folder", lambda path: None, "x.txt"),
    ][:3], workers=True)
    add_folder("collect {}/run --backend cpu", [
        ("a folder with rows", lambda path: mine(path / "rows.jsonl"), "another --out"),
        ("a run", put_run, "is a run"),
        ("a folder with yields alone", lambda path: mine(path / "yields.json"), (*OTHERS, "yields.json")),
    ], run_of)
    add_folder("train {}/recipe.toml", [
        ("a folder with a log", lambda path: mine(path / "log.jsonl"), (*OTHERS, "log.jsonl")),
        ("a folder with a checkpoint of another's", lambda path: mine(path / "checkpoint-3" / "thesis.tex"),
         "checkpoint-3"),
    ])
    add_folder("recipe export {}/rl.toml --to verl --set rl.objective=grpo", make=lambda folder: shutil.copy(
        ROOT / "recipes/tiny-tritonrl.toml", folder / "rl.toml"))
    return kinds


def flag_kinds():
    """Numbers and names that flags do not take."""
    kinds = []

    def add(command, *cases, make=good, **more):
        for flags, says in cases:
            kinds.append(Kind(command + " " + flags, flags.replace("{}/", ""), 2, says, make, **more))

    seeds = [("--seed -1", "--seed"), ("--seed 1.5", "--seed"), ("--seed 0x10", "--seed"),
             ("--seed 18446744073709551616", "18446744073709551615")]
    add("verify {}/model.py {}/right.py --backend cpu", *seeds,
        ("--interval-width nan", "--interval-width"), ("--interval-width inf", "--interval-width"),
        ("--interval-width -0.1", "--interval-width"), ("--interval-width 2", "--interval-width"),
        ("--trials 0", "--trials"), ("--trials nan", "--trials"), ("--trials 101", "--trials"),
        ("--trial-timeout 0", "--trial-timeout"), ("--trial-timeout -1", "--trial-timeout"),
        ("--record-timeout 86401", "--record-timeout"), ("--executors 0", "--executors"),
        ("--tolerance none", "--tolerance"), ("--coverage all", "--coverage"), ("--baseline eager", "--baseline"),
        ("--baseline default --no-baseline", "--no-baseline"), ("--set N", "NAME=INTEGER"),
        ("--set N=1.5", "NAME=INTEGER"), ("--set N=4", "no module-level line"),
        ("--set N=99999999999999999999", "NAME=INTEGER"), ("--no-such-flag", "--no-such-flag"),
        ("--class", "--class"))
    add("verify {}/model.py {}/right.py", ("--backend tpu", "--backend"), ("--device x100 --backend cpu", "x100"))
    add("verify", ("", "expected MODEL.py and CANDIDATE.py"), ("{}/model.py", "expected MODEL.py and CANDIDATE.py"),
        ("{}/model.py --batch {}/right.py", "is one too many"), ("--batch {}/right.py --set N=4", "--set is for one"),
        ("--batch {}/right.py --jobs 0", "--jobs"), ("--batch {}/right.py --jobs 1025", "--jobs"))
    add("optimize {}/model.py --backend cpu --out {}/out", *seeds[:1],
        *[("--budget " + text, "--budget " + text) for text in ("0", "-5s", "nan", "inf", "soon", "1e9h", "5d")],
        ("--proposals 0", "--proposals"), ("--proposals -1", "--proposals"), ("--coverage none", "--coverage"),
        ("--schedules {}/nowhere", "there is no such folder"), ("--schedules {}/model.py", "there is no such folder"),
        ("--class", "--class"))
    add("record {}/model.py", ("--repeat 0", "--repeat"), ("--repeat -1", "--repeat"), ("--repeat x", "--repeat"))
    add("record", ("", "file"), ("{}/model.py {}/right.py", "right.py"))
    add("eval {}/model.py --backend cpu", *seeds[:1], ("--samples 0", "--samples"), ("--samples 1001", "--samples"),
        ("--explore nan", "--explore"), ("--explore 1.5", "--explore"), ("--temperature nan", "--temperature"),
        ("--temperature -1", "--temperature"), ("--top-p nan", "--top-p"), ("--top-p 2", "--top-p"),
        ("--prompt-price -1", "--prompt-price"), ("--prompt-price inf", "--prompt-price"),
        ("--completion-price nan", "--completion-price"), ("--max-tokens -1", "--max-tokens"),
        ("--build-timeout 0", "--build-timeout"), ("--build-timeout nan", "--build-timeout"),
        ("--trial-timeout inf", "--trial-timeout"), ("--batch 0", "--batch"), ("--concurrency 0", "--concurrency"),
        ("--policy-timeout 0", "--policy-timeout"), ("--policy-retries -1", "--policy-retries"),
        ("--shard 1/2", "--shard and --merge need"), ("--merge {}/x.jsonl", "--shard and --merge need"))
    add("eval {}/model.py --backend cpu", ("--policy nobody", "nobody"), ("--policy teacher,teacher", "twice"),
        ("--policy replay", "--answers"), ("--policy replay --answers {}/nowhere", "nowhere"),
        ("--policy openai", "--policy-url"), ("--policy local --model {}/nowhere", "nowhere"),
        ("--beside {}/nowhere", "--beside"), ("--beside teacher@0", "from 1 to 1000"), ("--model {}/x", "--policy local"),
        ("--twins", "--twins"), ("--lines {}/l.jsonl --shard 3/2", "expected I/N"),
        ("--search soon", "--search soon"), ("--class", "--class"))
    add("eval", ("", "suite"), ("--backend cpu {}/empty", "has no *.py file"),
        make=lambda folder: (good(folder), (folder / "empty").mkdir()))
    add("synth --no-hygiene --out {}/out.jsonl", *seeds, ("--count 0", "--count"), ("--count -1", "--count"),
        ("--count -18446744073709551615", "--count"), ("--count 1e6", "--count"), ("--level 0", "--level"),
        ("--level 41", "--level"), ("--level x", "--level"), ("--dtype float8", "--dtype"),
        ("--window 5", "LOW:HIGH"), ("--window nan:inf", "--window"), ("--window 2^20:2^20", "twice"),
        ("--window 2^70:2^80", "--window"), ("--only Nothing", "no operator Nothing"), ("--split some", "--split"),
        ("--operators few", "--operators"), ("--only ReLU --operators all", "--only"), ("--measure x", "--measure"))
    add("synth", ("", "--out is required"), ("--twin 7 --out {}/out.jsonl --backend cpu", "--twin"),
        ("--check {}/a --augment {}/b", "--check"), ("--stats {}/a --check {}/b", "--check"))
    add("report {}/run", ("--pair a=b", "--against"), ("--sources {}/nowhere", "there is no such folder"),
        ("--sources {}/run/lines.jsonl", "there is no such folder"), ("--out {}/run/lines.jsonl", "is the run itself"),
        ("--csv {}/run/lines.jsonl", "is the run itself"), ("--against {}/nowhere", "nowhere"),
        ("--against {}/run --pair a=b", "expected OURS=THEIRS"), make=lambda folder: put_run(folder / "run"))
    add("collect {}/run --backend cpu --out {}/rows", ("--alike nan", "--alike"), ("--alike 2", "--alike"),
        ("--known-text nan", "--known-text"), ("--answers 0", "--answers"), ("--variants 0", "--variants"),
        ("--against {}/nowhere", "nowhere"), make=lambda folder: put_run(folder / "run"))
    add("collect {}/run", ("", "--out"), make=lambda folder: put_run(folder / "run"))
    review = "review {}/run --review-url %s --review-model m"
    add(review % "http://localhost:1/v1", ("--review-timeout 0", "--review-timeout"), ("--concurrency 0", "--concurrency"),
        ("--prompt-price nan", "--prompt-price"), ("--review-retries 101", "--review-retries"),
        make=lambda folder: put_run(folder / "run"))
    add(review % "nonsense", ("", "nonsense"), make=lambda folder: put_run(folder / "run"))
    add("review {}/run", ("", "--review-url"), make=lambda folder: put_run(folder / "run"))
    add("selftest --backend cpu", *seeds[:1], ("--part 0", "--part"), ("--part 3 --parts 2", "--part 3"),
        ("--parts -1", "--parts"), ("--trials 0", "--trials"), ("{}/nowhere", "nowhere"))
    add("train", ("", "a recipe and --out"), ("{}/recipe.toml", "a recipe and --out"), ("--settings x", "x"),
        ("{}/recipe.toml --out {}/o --set a=1", "a"), ("{}/recipe.toml --out {}/o --set sft.steps", "sft.steps"),
        ("{}/recipe.toml --out {}/o --set sft.steps=-1", "sft.steps"),
        ("{}/recipe.toml --out {}/o --set sft.rate=nan", "sft.rate"),
        ("{}/recipe.toml --out {}/o --set sft.rate=inf", "sft.rate"),
        ("{}/recipe.toml --out {}/o --set model.tokenizer={}/model.py", "model.py"),
        ("{}/recipe.toml --out {}/o --set model.tokenizer={}/nowhere", "nowhere"),
        ("{}/recipe.toml --out {}/o --set data.rows={}/model.py", "model.py"),
        ("{}/recipe.toml --out {}/o --set model.init={}/nowhere", "nowhere"))
    add("recipe", ("", "subcommand"), ("import", "subcommand"), ("export {}/recipe.toml --out {}/o", "--to"),
        ("export {}/recipe.toml --to trl --out {}/o", "trl"), ("export {}/recipe.toml --to verl", "--out"),
        ("export {}/recipe.toml --to verl --out {}/o --tasks 0", "--tasks"),
        ("export {}/recipe.toml --to verl --out {}/o --tasks -1", "--tasks"),
        ("export {}/recipe.toml --to verl --out {}/o", "rl"))
    add("doctor", ("--backend tpu", "--backend"), ("extra", "extra"))
    kinds.append(Kind("", "no command", 2, "subcommand"))
    kinds.append(Kind("verfiy a b", "no such command", 2, "no subcommand verfiy"))
    kinds.append(Kind("--no-such-flag", "no such flag", 2, "subcommand"))
    kinds.append(Kind("record", "an empty name", 2, "empty", words=("",)))
    kinds.append(Kind("record", "a name of 300 letters", 2, "name too long", words=("x" * 300,)))
    kinds.append(Kind("record", "a path of 5000 letters", 2, "name too long", words=("x/" * 2500,)))
    return kinds


def content_kinds():
    """Files whose content is no such thing."""
    kinds = []

    def text(command, name, what, content, says, code=2, workers=False, **more):
        kinds.append(Kind(command, "%s %s" % (name, what), code, says,
                          lambda folder: (good(folder), put(folder / name, content)), workers=workers, **more))

    def batch(what, content, says, **more):
        text("verify --backend cpu --batch {}/x.jsonl", "x.jsonl", what, content, says, **more)

    line = json.dumps(LINE)
    batch("is empty", "", "holds no candidates")
    batch("has blank lines alone", "\n \n\n", "holds no candidates")
    batch("is no JSON", "mine\n", "x.jsonl:1")
    batch("is cut off", line[:-20], "x.jsonl:1")
    batch("has NULs", b"\0\0\0\n", "x.jsonl:1")
    batch("has a list", "[]\n", "x.jsonl:1")
    batch("has an unknown member", '{"candidat": ""}\n', "unknown member candidat")
    batch("has no candidate", '{"reference": "model.py"}\n', "expected one of candidate")
    batch("has two candidates", '{"reference": "model.py", "candidate": "right.py", "candidate_text": ""}\n',
          "expected one of candidate")
    batch("has a number for a path", '{"reference": 5, "candidate": "right.py"}\n', "expected a string")
    batch("names a folder", '{"reference": "model.py", "candidate": "."}\n', "is a folder, " + A_FILE)
    batch("names a device", '{"reference": "model.py", "candidate": "/dev/zero"}\n', "is a device, " + A_FILE)
    batch("names nothing", '{"reference": "nowhere.py", "candidate": "right.py"}\n', "nowhere.py: cannot be read")
    batch("has an id twice", line + "\n" + line + "\n", "has the id a too")
    batch("is nested deeply", '{"id": %s%s}\n' % ("[" * 1000, "]" * 1000), "x.jsonl:1")
    batch("is not UTF-8", b'{"id": "\xff\xfe"}\n', "x.jsonl:1")
    for what, content, says in (
            ("is empty", "", "Model"), ("is no Python", "def (:\n", "x.py:1"), ("has NULs", b"\0\0", "x.py"),
            ("is not UTF-8", b"x = '\xff'\n", "x.py"), ("has no Model", "x = 1\n", "Model"),
            ("has no get_inputs", MODEL.replace("get_inputs", "inputs"), "get_inputs"),
            ("raises", "raise ValueError('no')\n" + MODEL, "ValueError"),
            ("has inputs that are none", MODEL.replace("[torch.randn(40, 30)]", "5"), "get_inputs"),
            ("ends its process", "import os\nos._exit(7)\n", "x.py")):
        text("record {}/x.py", "x.py", what, content, says, workers=True)
    text("verify {}/x.py {}/right.py --backend cpu --record-timeout 5", "x.py", "never ends",
         "while True:\n    pass\n", "(--record-timeout)", workers=True)
    text("verify {}/model.py {}/x.py --backend cpu --record-timeout 5", "x.py", "never ends, a candidate",
         CANDIDATE + "\nwhile True:\n    pass\n", "(--record-timeout)", code=1, workers=True, prints=True)
    slow = CANDIDATE.replace("    tl.store", "    for _ in range(n * 1000):\n        x = tl.minimum(x, x + 1.0)\n"
                             "    tl.store")
    text("verify {}/model.py {}/x.py --backend cpu --trial-timeout 1", "x.py", "has an endless kernel", slow,
         "(--trial-timeout)", code=4, workers=True, prints=True)
    text("eval {}/x.jsonl --backend cpu", "x.jsonl", "is no JSON", "mine\n", "x.jsonl:1", workers=True)
    text("eval {}/x.jsonl --backend cpu", "x.jsonl", "is empty", "", "has no tasks", workers=True)
    text("eval {}/x.jsonl --backend cpu", "x.jsonl", "has a name with ..", '{"id": "../../x", "model": ""}\n',
         "expected a name of a file", workers=True)
    text("eval {}/model.py --backend cpu --policy replay --answers {}/x.jsonl", "x.jsonl", "is no JSON", "mine\n",
         "x.jsonl:1", workers=True)
    text("synth --stats {}/x.jsonl", "x.jsonl", "is no JSON", "mine\n", "x.jsonl:1")
    text("synth --stats {}/x.jsonl", "x.jsonl", "is empty", "", "has no tasks")
    text("synth --check {}/x.jsonl --backend cpu", "x.jsonl", "is no JSON", "mine\n", "x.jsonl:1")
    text("synth --check {}/x.jsonl --backend cpu", "x.jsonl", "is empty", "", "has no tasks")
    text("report {}/x.jsonl", "x.jsonl", "is no run", '{"model": "x"}\n', "is no file of eval's lines")
    text("report {}/x.jsonl", "x.jsonl", "is empty", "", "x.jsonl")
    text("report {}", "right.py", "is no run, nor is its folder", CANDIDATE, "has no lines.jsonl")
    text("selftest {}/x.py --backend cpu", "x.py", "is no case", MODEL, "x.py")
    for what, content, says in (
            ("is no TOML", "[run\n", "x.toml"), ("has an unknown key", RECIPE + "stepz = 3\n", "sft.stepz"),
            ("has a kind that is none", '[run]\nkind = "x"\n', "run.kind"),
            ("has a text for a number", RECIPE.replace("steps = 1", 'steps = "one"'), "sft.steps"),
            ("has a number out of its range", RECIPE.replace("steps = 1", "steps = -1"), "sft.steps"),
            ("is nested deeply", "a = %s%s\n" % ("[" * 5000, "]" * 5000), "x.toml"),
            ("has NULs", b"\0\0", "x.toml")):
        text("train {}/x.toml --out {}/out", "x.toml", what, content, says)
    return kinds


def surrounding_kinds():
    """Streams, folders and stores that cannot be used."""
    kinds = []
    lost = {"full": "cannot write to the standard output", "gone": "cannot write to the standard output",
            "closed": "the standard output is closed"}

    def prints(command, make=good, workers=False, code=3, ways=("full", "closed", "gone")):
        for way in ways:
            kinds.append(Kind(command, "stdout is " + way, code, lost[way], make, stdout=way,
                              workers=workers and way != "closed"))

    prints("--version")
    prints("verify --help")
    prints("verify {}/model.py {}/right.py --backend cpu", workers=True)
    prints("verify {}/model.py {}/right.py --backend cpu --json", workers=True, ways=("full",))
    prints("verify --backend cpu --batch {}/b.jsonl", lambda folder: put_lines(folder / "b.jsonl", LINE), workers=True,
           ways=("full",))
    prints("record {}/model.py", workers=True, ways=("full", "closed"))
    prints("eval {}/model.py --backend cpu --trials 1", workers=True, ways=("full", "closed"))
    prints("eval {}/model.py --backend cpu --trials 1 --json", workers=True, ways=("gone",))
    prints("report {}/run", lambda folder: put_run(folder / "run"))
    prints("synth --no-hygiene --level 2 --count 3 --out {}/out.jsonl")
    prints("synth --stats {}/t.jsonl", lambda folder: put_tasks(folder / "t.jsonl"), ways=("full",))
    prints("train --settings sft")
    prints("doctor --backend cpu", workers=True, ways=("full",))

    away = {"TMPDIR": "{}/nowhere"}
    for command in ("verify {}/model.py {}/right.py --backend cpu", "record {}/model.py",
                    "optimize {}/model.py --backend cpu --out {}/out", "eval {}/model.py --backend cpu"):
        kinds.append(Kind(command, "TMPDIR is gone", 3, "TMPDIR", good, env=away))
    kinds.append(Kind("verify {}/model.py {}/right.py --backend cpu", "TMPDIR is a file", 3, "TMPDIR", good,
                      env={"TMPDIR": "{}/model.py"}))
    for command in ("verify {}/model.py {}/right.py --backend cpu", "record {}/model.py", "report {}/run",
                    "optimize {}/model.py --backend cpu", "synth --no-hygiene --out {}/out.jsonl",
                    "train {}/recipe.toml --out out"):
        kinds.append(Kind(command, "the working folder is gone", 3, "the working folder cannot be used", good,
                          gone=True))

    def store(what, make, says, code=2, **more):
        kinds.append(Kind("optimize {}/model.py --backend cpu --out {}/out --store {}/s", "--store is " + what, code,
                          says, lambda folder: (good(folder), make(folder / "s")), workers=True, **more))

    a_store = "where a store's file was expected"
    store("a folder", lambda path: path.mkdir(), "is a folder, " + a_store)
    store("a FIFO", os.mkfifo, "is a FIFO, " + a_store)
    store("a device", lambda path: path.symlink_to("/dev/null"), "is a device, " + a_store)
    kinds.append(Kind("optimize {}/model.py --backend cpu --out {}/out --store /proc/kernelwright/s",
                      "--store is where nothing can be made", 3, "cannot open the store", good, workers=True))
    kinds.append(Kind("optimize {}/model.py --backend cpu --out {}/out", "KERNELWRIGHT_STORE is a folder", 2, a_store,
                      lambda folder: (good(folder), (folder / "s").mkdir()), env={"KERNELWRIGHT_STORE": "{}/s"},
                      workers=True))
    store("somebody's note", lambda path: put(path, "mine"), "warning: cannot", code=0)
    kinds.append(Kind("verify {}/x.py {}/right.py", "stdin and stderr are closed", 2, "", good, closed=(0, 2)))
    return kinds


def all_kinds():
    return [*read_kinds(), *written_kinds(), *flag_kinds(), *content_kinds(), *surrounding_kinds()]


PROGRAM = os.environ.get("KERNELWRIGHT_BINARY") or os.path.join(
    os.environ.get("KW_BUILD_DIR", ROOT / "build"), "kernelwright")


def main():
    global PROGRAM, SECONDS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=PROGRAM, help="the binary")
    parser.add_argument("--only", default="", help="kinds whose name has these words (a regular expression)")
    parser.add_argument("--cheap", action="store_true", help="those that start no process with torch")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that a command may take")
    parser.add_argument("--list", action="store_true", help="say which there are, and run none")
    flags = parser.parse_args()
    PROGRAM, SECONDS = os.path.abspath(flags.program), flags.seconds
    kinds = [kind for kind in all_kinds() if re.search(flags.only, kind.name) and not (flags.cheap and kind.workers)]
    misses, most, by_command = 0, 0, {}
    with tempfile.TemporaryDirectory(prefix="kw-bad-") as base:
        for number, kind in enumerate(kinds):
            if flags.list:
                print("%4d  %d  %s" % (number + 1, kind.code, kind.name))
                continue
            folder = pathlib.Path(base) / str(number)
            folder.mkdir()
            outcome = run(kind, folder)
            shutil.rmtree(folder, ignore_errors=True)
            misses += bool(outcome.faults)
            most = max(most, outcome.megabytes)
            command = kind.command.split()[0] if kind.command else "none"
            by_command[command] = by_command.get(command, 0) + 1
            print("%4d  %-4s %3s  %6.1f s %6.0f MB  %s" % (
                number + 1, "MISS" if outcome.faults else "ok", outcome.code, outcome.seconds, outcome.megabytes,
                kind.name), flush=True)
            for fault in outcome.faults:
                print("            " + fault)
            if outcome.faults:
                print("            said: " + outcome.text.strip()[:400].replace("\n", "\n                  "), flush=True)
    if not flags.list:
        print("%d kinds (%s), %d missed, %.0f MB at most" % (
            len(kinds), ", ".join("%s %d" % item for item in sorted(by_command.items())), misses, most))
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
