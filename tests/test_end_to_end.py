"""The command line from a model file to a result folder, on the CPU backend."""

import concurrent.futures
import contextlib
import copy
import importlib.util
import itertools
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import warnings

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS), str(TESTS / "mutators")]

import command  # noqa: E402
import mutate  # noqa: E402
from command import MODELS, run  # noqa: E402

MODEL = MODELS / "gated_norm.py"
RESULT = {"optimized.py", "bundle", "verdict.json", "report.html"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store") / "store.sqlite"


@pytest.fixture(scope="module")
def optimized(tmp_path_factory, store):
    """The model's result folder, and what the command printed."""
    folder = tmp_path_factory.mktemp("result") / "out"
    process = run("optimize", MODEL, "--backend", "cpu", "--out", folder, "--store", store, "--json")
    assert process.returncode == 0, process.stderr
    return folder, json.loads(process.stdout)


def test_a_result_does_not_replace_its_own_model(optimized):
    folder, _ = optimized
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    process = run("optimize", folder / "optimized.py", "--backend", "cpu", "--out", folder)
    assert process.returncode == 2 and "choose another --out" in process.stderr
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def load_module(path):
    spec = importlib.util.spec_from_file_location(path.stem + "_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def canonical_hash(file, cls, folder):
    process = run("record", file, "--class", cls, "--out", folder)
    assert process.returncode == 0, process.stderr
    return next(line.split()[1] for line in process.stdout.splitlines()
                if line.startswith("canonical "))


# The result


def test_result_folder_is_complete(optimized):
    folder, printed = optimized
    assert {p.name for p in folder.iterdir()} == RESULT
    assert printed["outcome"] == "improved" and printed["measured"] is False
    verdict = json.loads((folder / "verdict.json").read_text())
    assert verdict["outcome"] == "accepted" and verdict["rejected_at"] is None
    assert [s["stage"] for s in verdict["stages"]] == ["load", "record", "compile", "coverage",
                                                       "correct"]
    assert all(s["passed"] for s in verdict["stages"])
    assert verdict["share"] >= 0.3
    assert verdict["speedup_eager"] is None  # no GPU, no time
    program = json.loads((folder / "bundle" / "program.json").read_text())
    kernels = {p.name for p in (folder / "bundle" / "kernels").iterdir()}
    assert kernels == {name for k in program["kernels"]
                       for name in (k["source"] + ".py", k["compiled"]["cubin"] + ".cubin")}
    report = (folder / "report.html").read_text()
    assert "gated_norm" in report and "http://" not in report.replace("http://www.w3.org", "")


def test_optimized_file_records_as_the_bundle(optimized, tmp_path):
    folder, _ = optimized
    # A bundle's kernels and programs are canonical: recording the file gives the same document.
    canonical_hash(folder / "optimized.py", "ModelNew", tmp_path / "again")
    again = json.loads((tmp_path / "again" / "program.json").read_text())
    bundle = json.loads((folder / "bundle" / "program.json").read_text())
    for part in ("init", "derive", "inputs", "forward", "state", "kernels", "arguments", "result"):
        assert again[part] == bundle[part], part


def test_optimized_file_runs_in_plain_pytorch(optimized):
    """On CPU tensors it runs the original, warns once, and loads the original's state_dict."""
    import torch
    module = load_module(optimized[0] / "optimized.py")
    original = load_module(MODEL)
    torch.manual_seed(0)
    ours, theirs = module.ModelNew(72), original.Model(72)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    assert ours.again is ours.project
    x = torch.randn(37, 72)
    with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got, expected = ours(x), theirs(x)
        ours(x)
    assert len(got) == 2 and all(torch.equal(a, b) for a, b in zip(got, expected))
    assert len([w for w in caught if "ModelNew" in str(w.message)]) == 1


def test_second_run_resumes_from_the_store(optimized, store, tmp_path):
    folder, first = optimized
    # Flags may stand before the file.
    process = run("optimize", "--backend", "cpu", "--out", tmp_path / "out", "--store", store,
                  "--set", "ROWS=37", "--json", MODEL)
    again = json.loads(process.stdout)
    assert again["outcome"] == "improved"
    assert ((tmp_path / "out" / "optimized.py").read_text() ==
            (folder / "optimized.py").read_text())
    earlier = "from an earlier run"
    assert earlier in (tmp_path / "out" / "report.html").read_text()
    assert earlier not in (folder / "report.html").read_text()
    assert again["search_seconds"] < first["search_seconds"]
    # Its kernels are there too, and need not be built.
    assert again["phase_seconds"].get("build", 0) < 0.05 * first["phase_seconds"]["build"]


def test_what_the_store_lost_is_built_again(optimized, store, tmp_path):
    folder, _ = optimized
    copied = tmp_path / "store.sqlite"
    with contextlib.closing(sqlite3.connect(store)) as known:
        known.execute("VACUUM INTO ?", (str(copied),))
    with contextlib.closing(sqlite3.connect(copied)) as damaged:
        damaged.execute("UPDATE files SET value = substr(value, 1, length(value) / 2)")
        damaged.commit()
    process = run("optimize", MODEL, "--backend", "cpu", "--out", tmp_path / "out", "--store", copied,
                  "--set", "ROWS=37", "--json")
    assert json.loads(process.stdout)["phase_seconds"]["build"] > 0
    assert ((tmp_path / "out" / "optimized.py").read_text() ==
            (folder / "optimized.py").read_text())


@pytest.mark.parametrize("damage", ["garbage", "cut off"])
def test_a_damaged_store_ends_no_run(damage, optimized, store, tmp_path):
    damaged = tmp_path / "store.sqlite"
    with contextlib.closing(sqlite3.connect(store)) as known:
        known.execute("VACUUM INTO ?", (str(damaged),))
    whole = damaged.read_bytes()
    damaged.write_bytes(b"no database " * 1000 if damage == "garbage" else whole[:4096])
    left = damaged.read_bytes()
    process = run("optimize", MODELS / "attention_only.py", "--backend", "cpu", "--out",
                  tmp_path / "out", "--store", damaged)
    assert process.returncode == 0, process.stderr
    assert {p.name for p in (tmp_path / "out").iterdir()} == RESULT
    assert "warning: cannot" in process.stderr and str(damaged) in process.stderr
    assert damage == "cut off" or damaged.read_bytes() == left


def test_nothing_to_gain_returns_the_original(tmp_path, store):
    model = MODELS / "attention_only.py"
    out = str(tmp_path / "out") + "/"  # as a shell completes it
    process = run("optimize", model, "--backend", "cpu", "--out", out, "--store", store)
    assert process.returncode == 0, process.stderr
    assert "nothing can be gained" in process.stdout
    assert {p.name for p in (tmp_path / "out").iterdir()} == RESULT
    optimized = (tmp_path / "out" / "optimized.py").read_text()
    assert optimized.startswith(model.read_text())
    assert optimized.splitlines()[-1] == "ModelNew = Model"


def test_batch_norm_is_folded(tmp_path, store):
    """No batch norm is left; its weights are folded as PyTorch's own helper folds them, and again
    when training has changed the running statistics."""
    import torch
    from torch.nn.utils.fusion import fuse_conv_bn_weights
    out = tmp_path / "out"
    process = run("optimize", MODELS / "folded_norm.py", "--backend", "cpu", "--out", out, "--store",
                  store, "--json")
    printed = json.loads(process.stdout)
    assert printed["outcome"] == "improved", process.stderr
    assert "a batch norm folded into a convolution" in printed["message"]
    assert "a batch norm folded into a convolution" in (out / "report.html").read_text()
    program = json.loads((out / "bundle" / "program.json").read_text())
    assert "batch_norm" not in json.dumps(program["forward"]["steps"])

    model = load_module(out / "optimized.py").ModelNew()

    def check():
        with torch.no_grad():
            packed = command.derived(model)
            # Copies: what converts the model itself would have its weights packed again.
            conv, norm = copy.deepcopy(model.conv).double(), copy.deepcopy(model.norm).double()
            expected = fuse_conv_bn_weights(conv.weight, conv.bias, norm.running_mean,
                                            norm.running_var, norm.eps, norm.weight, norm.bias)
        by_rank = sorted(packed, key=lambda tensor: -tensor.dim())  # weight, bias
        for got, wanted in zip(by_rank, expected, strict=True):
            assert got.dtype == torch.float32
            torch.testing.assert_close(got.double(), wanted, rtol=1e-6, atol=1e-7)
        return packed

    first = check()
    assert check() is first
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on the CPU, and in training, the original runs
        model.train()
        model(3 + torch.randn(4, 6, 9, 9))
        model.eval()
    assert not torch.equal(check()[0], first[0])


# As recorded some steps are in other places than in the form: what is written for it must survive
# export and recording.
@pytest.mark.parametrize("name", ["unet_stage", "transposed_decoder"])
def test_other_forms_are_written_as_a_whole(name, tmp_path, store):
    path = TESTS.parent / "examples" / (name + ".py")
    small = re.search("^# small: (.*)$", path.read_text(), re.M).group(1).split()
    flags = [flag for setting in small for flag in ("--set", setting)]
    optimize = ["optimize", path, *flags, "--backend", "cpu", "--store", store, "--budget", "60s",
                "--json"]
    process = run(*optimize, "--out", tmp_path / "none", "--form", "no such form")
    assert process.returncode == 2 and "no form \"no such form\"" in process.stderr
    form = re.findall('"([^"]*channels last)"', process.stderr)[-1]
    process = run(*optimize, "--out", tmp_path / "out", "--form", form)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["outcome"] == "improved"
    assert [f["reason"] for f in result["finalists"]] == [""]
    assert result["finalists"][0]["form"] == form and result["finalists"][0]["fragments"] > 1


def test_a_budget_that_ends_at_once_is_no_finding(tmp_path):
    process = run("optimize", MODEL, "--backend", "cpu", "--out", tmp_path / "out", "--store",
                  tmp_path / "store.sqlite", "--budget", "0.001s")
    assert process.returncode == 0, process.stderr
    assert "the budget ended" in process.stdout


def test_interrupt_leaves_a_valid_result(tmp_path):
    """Ctrl-C reaches the whole process group; the search ends and the result is confirmed."""
    out = tmp_path / "out"
    process = subprocess.Popen(
        [command.binary(), "optimize", str(MODEL), "--backend", "cpu", "--out", str(out), "--store",
         str(tmp_path / "store.sqlite"), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    seen = []
    for line in process.stderr:
        seen.append(line)
        if line.startswith(("planning", "searching")):
            break
    os.killpg(process.pid, signal.SIGINT)
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, "".join(seen) + errors
    assert {p.name for p in out.iterdir()} == RESULT
    text = (out / "optimized.py").read_text()
    if json.loads(printed)["outcome"] == "improved":
        assert json.loads((out / "verdict.json").read_text())["outcome"] == "accepted"
    else:
        assert text.startswith(MODEL.read_text())


# Candidates

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, BODY, mask=i < n)

def doubled(x):
    y = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""


def candidate(forward, body="tl.sin(x) + x", name="ModelNew"):
    return KERNEL.replace("BODY", body) + """
class %s(torch.nn.Module):
    def forward(self, x):
        %s
""" % (name, forward.replace("\n", "\n        "))


# file name -> (text, stage that rejects it, words of the reason)
CANDIDATES = {
    "right.py": (candidate("return doubled(x)"), None, ""),
    "syntax.py": (candidate("return doubled(x"), "load", "syntax"),
    "no_class.py": (candidate("return doubled(x)", name="Other"), "load", "ModelNew"),
    "no_triton.py": (command.SINE_MODEL.replace("Model", "ModelNew"), "load", "Triton"),
    "reference.py": (command.SINE_MODEL, "load", "reference.py: the file defines no ModelNew, but Model: are reference"),
    "raises.py": (candidate("raise ValueError('no')"), "record", "no"),
    "reads.py": (candidate("return doubled(x) if x.sum() > 0 else x"), "record", "host"),
    "undefined.py": (candidate("return doubled(x)", body="unknown(x)"), "compile", "unknown"),
    "pytorch.py": (candidate("return torch.sin(x) + x"), "coverage", "no kernel launch"),
    "decoy.py": (candidate("doubled(x)\nreturn torch.sin(x) + x"), "coverage",
                 "does not use what they write"),
    "wrong.py": (candidate("return doubled(x)", body="tl.sin(x) - x"), "correct", "output 0"),
    "half.py": (candidate("return doubled(x).half()"), "correct", "float16"),
    "shape.py": (candidate("return doubled(x)[:-1]"), "correct", "999"),
    "in_place.py": (candidate("x += 1\nreturn doubled(x - 1)"), "correct", "inputs"),
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("candidates")
    (folder / "model.py").write_text(command.SINE_MODEL)
    for name, (text, _, _) in CANDIDATES.items():
        (folder / name).write_text(text)
    process = run("verify", folder / "model.py", *[folder / name for name in CANDIDATES], "--backend",
                  "cpu", "--json")
    assert process.returncode == 1, process.stderr
    return command.verdicts(process)


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidate_meets_its_stage(judged, name):
    _, stage, words = CANDIDATES[name]
    verdict = judged[name]
    assert verdict["rejected_at"] == stage, verdict["reason"]
    assert verdict["outcome"] == ("rejected" if stage else "accepted")
    assert words in verdict["reason"]
    assert "\n" not in verdict["reason"]


def test_an_overdue_interpreter_says_nothing_of_a_candidate(tmp_path):
    (tmp_path / "model.py").write_text(command.SINE_MODEL)
    # One program's steps on single numbers are slow and little work, of which too much is a fault.
    slow = candidate("return doubled(x)").replace(
        "    tl.store", "    s = 0\n    for k in range(n * 2000):\n        s = s ^ k\n"
        "    x = tl.where(s == -7, 0.0, x)\n    tl.store")
    slow = slow.replace("(triton.cdiv(x.numel(), 64),)", "(1,)").replace("BLOCK=64", "BLOCK=1024")
    (tmp_path / "slow.py").write_text(slow)
    process = run("verify", tmp_path / "model.py", tmp_path / "slow.py", "--backend", "cpu",
                  "--json", "--trial-timeout", 1)
    assert process.returncode == 4, process.stderr
    verdict = json.loads(process.stdout)
    assert (verdict["outcome"], verdict["rejected_at"]) == ("not judged", None)
    assert "in time" in verdict["reason"]


def test_a_job_that_ends_without_an_answer_names_its_file(tmp_path):
    (tmp_path / "model.py").write_text(command.SINE_MODEL)
    (tmp_path / "exits.py").write_text("import os\n\ndef leave():\n    os._exit(0)\n")
    (tmp_path / "gone.py").write_text("import exits\n" + candidate("exits.leave()"))
    process = run("verify", tmp_path / "model.py", tmp_path / "gone.py", "--backend", "cpu")
    assert process.returncode == 1 and "gone.py: exited with status 0" in process.stdout


def test_mutants_are_rejected(optimized, tmp_path):
    """One mutant each of some mutators; tests/mutators/run.py judges all of all."""
    optimized_file = optimized[0] / "optimized.py"
    wanted = ["drop-load-mask", "drop-store-mask", "tighten-bound", "drop-operation", "swap-operands",
              "wrong-reduction", "skip-store", "shrink-grid"]
    first = {}
    for mutant in mutate.mutants(optimized_file.read_text()):
        first.setdefault(mutant.mutator, mutant)
    chosen = [first[name] for name in wanted]
    for mutant in chosen:
        (tmp_path / (mutant.mutator + ".py")).write_text(mutant.text)
    process = run("verify", MODEL, optimized_file, *sorted(tmp_path.iterdir()), "--backend", "cpu",
                  "--json", "--trials", 1)
    verdicts = command.verdicts(process)
    assert verdicts.pop("optimized.py")["outcome"] == "accepted"
    survivors = {name for name, v in verdicts.items() if v["outcome"] != "rejected"}
    assert not survivors
    assert len(verdicts) == len(chosen) and all(v["rejected_at"] for v in verdicts.values())


# Bad input

HEAD = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        %s


def get_inputs():
    %s


def get_init_inputs():
    return []
"""
GOOD_INPUTS = "return [torch.randn(8, 8)]"

# what -> (text, line at fault or None, words of the message)
BAD_MODELS = {
    "missing_class": ("import torch\n\n\ndef get_inputs():\n    return []\n", None, ["Model"]),
    "missing_inputs": ("import torch\n\n\nclass Model(torch.nn.Module):\n    pass\n", None,
                       ["get_inputs"]),
    "syntax_error": (HEAD % ("return (x +", GOOD_INPUTS), 7, ["never closed"]),
    "host_read": (HEAD % ("return x if x.sum() > 0 else -x", GOOD_INPUTS), 7, ["host"]),
    "unknown_operator": (HEAD % ("return torch._standard_gamma(x.abs() + 1)", GOOD_INPUTS), 7,
                         ["_standard_gamma"]),
    "complex32": (HEAD % ("return x.to(torch.complex32).real", GOOD_INPUTS), 7, ["complex32"]),
    "raising_inputs": (HEAD % ("return x", "raise OSError('no such data set')"), 11,
                       ["no such data set"]),
    "raising_forward": (HEAD % ("return x @ torch.randn(3, 3, device=x.device)", GOOD_INPUTS), 7,
                        []),
    "import_error": ("import torch\nimport no_such_package\n", 2, ["no_such_package"]),
}


def message_of(process, code):
    """The one message that a failed command printed."""
    assert process.returncode == code, process.stdout + process.stderr
    assert process.stdout == ""
    lines = [line for line in process.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and "Traceback" not in process.stderr, process.stderr
    return lines[0]


def assert_nothing_written(out):
    assert [p.name for p in out.parent.iterdir() if p.name.startswith(out.name)] == []


@pytest.fixture(scope="module")
def bad_models(tmp_path_factory):
    """what -> (its folder, the finished command), two at a time.

    Every second one goes through `record`, which reads models as `optimize` does, and sooner.
    """
    commands = itertools.cycle([["optimize", "--backend", "cpu"], ["record"]])
    chosen = dict(zip(BAD_MODELS, commands))

    def attempt(what):
        folder = tmp_path_factory.mktemp(what)
        (folder / "model.py").write_text(BAD_MODELS[what][0])
        return folder, run(*chosen[what], folder / "model.py", "--out", folder / "out",
                           env={"KERNELWRIGHT_STORE": str(folder / "store.sqlite")})

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(BAD_MODELS, pool.map(attempt, BAD_MODELS)))


@pytest.mark.parametrize("what", BAD_MODELS)
def test_bad_model(bad_models, what):
    folder, process = bad_models[what]
    _, line, words = BAD_MODELS[what]
    message = message_of(process, 2)
    assert ("model.py:%d: " % line if line else "model.py: ") in message
    for word in words:
        assert word in message
    assert_nothing_written(folder / "out")


def test_byte_order_mark_is_no_mistake(tmp_path):
    (tmp_path / "model.py").write_text(command.SINE_MODEL, encoding="utf-8-sig")
    process = run("record", tmp_path / "model.py", "--out", tmp_path / "out")
    assert process.returncode == 0, process.stderr


def test_record_needs_no_folder(tmp_path):
    (tmp_path / "model.py").write_text(command.SINE_MODEL)
    process = run("record", tmp_path / "model.py")
    assert process.returncode == 0 and "canonical " in process.stdout, process.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["model.py"]


def test_missing_file(tmp_path):
    message = message_of(run("optimize", tmp_path / "no.py", "--out", tmp_path / "out"), 2)
    assert "no.py" in message
    assert_nothing_written(tmp_path / "out")


def test_empty_file_name():
    assert "empty" in message_of(run("optimize", "", "--backend", "cpu"), 2)


def test_wrong_flags_name_the_mistake(tmp_path):
    for flags, word in ((["--budget", "soon"], "soon"), (["--set", "ROWS"], "ROWS"),
                        (["--set", "NOTHING=3"], "NOTHING")):
        message = message_of(run("optimize", MODEL, "--out", tmp_path / "out", *flags), 2)
        assert word in message
        assert_nothing_written(tmp_path / "out")


def test_a_long_line_does_not_end_the_command(tmp_path):
    """Constants are looked for in every line, whoever wrote it."""
    long = tmp_path / "long.py"
    long.write_text("SIZE = 1000  # %s\n%s = 1\n%s" % (
        "a" * 300_000, "b" * 300_000, command.SINE_MODEL.replace("randn(1000)", "randn(SIZE)")))
    result = run("record", "--set", "SIZE=7", long)
    assert result.returncode == 0 and "fp32 7" in result.stdout, result.stderr


@pytest.mark.skipif(command.has_gpu(), reason="this machine has a GPU")
def test_cuda_without_a_gpu(tmp_path):
    message = message_of(run("optimize", MODEL, "--backend", "cuda", "--out", tmp_path / "out"), 3)
    assert message.startswith("error: --backend cuda: ") and "CUDA" in message
    assert_nothing_written(tmp_path / "out")


def test_output_folder_that_cannot_be_made():
    message = message_of(run("optimize", MODEL, "--backend", "cpu", "--out", "/proc/kernelwright"), 3)
    assert "/proc/kernelwright" in message


def test_output_folder_that_is_a_file(tmp_path):
    (tmp_path / "out").write_text("mine")
    message = message_of(run("optimize", MODEL, "--backend", "cpu", "--out", tmp_path / "out"), 2)
    assert str(tmp_path / "out") in message
    assert (tmp_path / "out").read_text() == "mine"


def test_output_folder_with_other_files(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    message = message_of(run("optimize", MODEL, "--backend", "cpu", "--out", tmp_path), 2)
    assert "thesis.tex" in message
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def on_a_disk(disk, size, commands='"$@"'):
    """What to put before a command so that `disk` is a disk of that size, whose files are listed
    at the end. Anybody may mount in namespaces of their own."""
    disk.mkdir()
    prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
              f'mount -t tmpfs -o size={size} none "$0" && {commands}; code=$?; ls -A "$0"; exit $code',
              str(disk)]
    if subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
        pytest.skip("mounting needs user namespaces")
    return prefix


def test_a_mount_point_may_be_the_out_folder(tmp_path):
    disk = tmp_path / "disk"
    prefix = on_a_disk(disk, "4m", '"$@" && "$@"')  # the second one replaces the first one's
    process = run("record", MODELS / "attention_only.py", "--out", disk, prefix=prefix)
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[-2:] == ["kernels", "program.json"]


def test_full_disk(tmp_path):
    disk = tmp_path / "disk"
    process = run("optimize", MODELS / "attention_only.py", "--backend", "cpu", "--out",
                  disk / "out", "--store", tmp_path / "store.sqlite",
                  prefix=on_a_disk(disk, "8k"))
    left = process.stdout
    process.stdout = ""
    message = message_of(process, 3)
    assert str(disk / "out") in message and "disk full" in message
    assert left == ""


def test_unknown_torch(tmp_path):
    """The executor with the libraries of a torch that says it is another version."""
    import torch
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '9.9.9'\n")
    (tmp_path / "torch" / "lib").mkdir()
    for library in (pathlib.Path(torch.__file__).parent / "lib").glob("*.so*"):
        (tmp_path / "torch" / "lib" / library.name).symlink_to(library)
    process = run("optimize", MODEL, "--backend", "cpu", "--out", tmp_path / "out",
                  env={"LD_LIBRARY_PATH": str(tmp_path / "torch" / "lib")})
    message = message_of(process, 3)
    assert "9.9.9" in message and torch.__version__ in message and "make build" in message
    assert_nothing_written(tmp_path / "out")
