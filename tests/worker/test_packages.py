"""Candidates whose kernels lie in other files: beside them, in their package, in a library."""

import pytest
import torch
from test_kernels import interpret

import replay

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
KERNEL = HEAD + """
%s
@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, %s, mask=i < n)
def swish(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
"""
CANDIDATE = HEAD + """
%s
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return %s
def get_inputs():
    return [torch.randn(500)]
"""
PARTS = HEAD + """
GAIN = tl.constexpr(1.0)
LIMIT: tl.constexpr = 0.0
@triton.jit
def gate(v):
    return tl.sigmoid(v)
@triton.jit
def times(a, b):
    return a * b
"""

# name -> ({path: text}, path of the candidate)
TREES = {
    "a module beside": ({
        "kernels.py": KERNEL % ("", "v * tl.sigmoid(v)"),
        "mine.py": CANDIDATE % ("from kernels import swish", "swish(x)")}, "mine.py"),
    "a relative import in a plain folder": ({
        "kernels.py": KERNEL % ("from .parts import gate", "v * gate(v)"), "parts.py": PARTS,
        "mine.py": CANDIDATE % ("from .kernels import swish", "swish(x)")}, "mine.py"),
    "from . import": ({
        "utils.py": KERNEL % ("from . import parts", "parts.times(v, parts.gate(v)) * parts.GAIN"),
        "parts.py": PARTS, "__init__.py": "",
        "mine.py": CANDIDATE % ("from . import utils", "utils.swish(x)")}, "mine.py"),
    "nested packages": ({
        "lib/__init__.py": "WIDTH = 7", "lib/ops/__init__.py": "", "lib/core/__init__.py": "",
        "lib/core/parts.py": PARTS,
        "lib/core/kernels.py": KERNEL % ("import triton.language as tl\nfrom ..core import parts as p",
                                         "p.times(v, p.gate(v)) + p.LIMIT"),
        "lib/ops/mine.py": CANDIDATE % ("from .. import WIDTH\nfrom ..core.kernels import swish\n"
                                        "assert WIDTH == 7", "swish(x)")}, "lib/ops/mine.py"),
    "a package that imports the file": ({
        "lib/__init__.py": "from .mine import ModelNew", "lib/parts.py": PARTS,
        "lib/mine.py": CANDIDATE % ("from .kernels import swish", "swish(x)"),
        "lib/kernels.py": KERNEL % ("from .parts import gate as door", "v * door(v)")}, "lib/mine.py"),
    "a package named like a library": ({
        "torch/__init__.py": "", "torch/kernels.py": KERNEL % ("", "v * tl.sigmoid(v)"),
        "torch/mine.py": CANDIDATE % ("from .kernels import swish", "swish(x)")}, "torch/mine.py"),
    "a plain folder named like a library": ({
        "triton/__init__.py": "", "triton/kernels.py": KERNEL % ("", "v * tl.sigmoid(v)"),
        "triton/mine.py": CANDIDATE % ("from kernels import swish", "swish(x)")}, "triton/mine.py"),
    "modules of the worker's names": ({
        "state.py": KERNEL % ("from launches import gate", "v * gate(v)"), "launches.py": PARTS,
        "recorder.py": CANDIDATE % ("from state import swish", "swish(x)")}, "recorder.py"),
    "imports by the package's own name": ({
        "lib/__init__.py": "", "lib/ops/__init__.py": "", "lib/parts.py": PARTS,
        "lib/ops/kernels.py": KERNEL % ("import lib.parts", "lib.parts.times(v, lib.parts.gate(v))"),
        "lib/ops/mine.py": CANDIDATE % ("from lib.ops.kernels import swish", "swish(x)")},
        "lib/ops/mine.py"),
    "modules named like Python's": ({
        "lib/__init__.py": "", "lib/statistics.py": "raise SystemExit", "lib/parts.py": PARTS,
        "lib/mine.py": KERNEL % ("from . import parts\nimport statistics\nstatistics.mean([1, 2])",
                                 "v * parts.gate(v)") + (CANDIDATE % ("", "swish(x)"))}, "lib/mine.py"),
    "helpers alone": ({
        "parts.py": PARTS + "def same(kernel):\n    return kernel\n",
        "mine.py": KERNEL % ("import parts as helpers\n@helpers.same",
                             "helpers.times(v, helpers.gate(v))")
        + (CANDIDATE % ("", "swish(x)"))}, "mine.py"),
    "a module that names the candidate's": ({
        "kernels.py": KERNEL % ("", "v * tl.sigmoid(v)") + "def late():\n    import mine\n"
                      "    assert mine.HERE is mine.ModelNew\n    return True\n",
        "mine.py": CANDIDATE % ("from kernels import late, swish",
                                "swish(x) if late() else x") + "HERE = ModelNew\n"}, "mine.py"),
    "a function of libdevice that was loaded once more": ({
        "mine.py": KERNEL % ("import importlib.util\nspec = importlib.util.find_spec("
                             "'triton.language.extra.libdevice')\n"
                             "again = importlib.util.module_from_spec(spec)\n"
                             "spec.loader.exec_module(again)\ninverse = again.rsqrt",
                             "v * tl.sigmoid(v) * inverse(v * 0 + 1)")
        + (CANDIDATE % ("", "swish(x)"))}, "mine.py"),
    "a place that no kernel writes to": ({
        "mine.py": KERNEL.replace("kernel(x, y, n,", "kernel(x, y, none, n,").replace(
            "(x, y, x.numel()", "(x, y, place(x.device), x.numel()") % (
            "import functools\n@functools.cache\ndef place(device):\n"
            "    return torch.empty(1, device=device)", "v * tl.sigmoid(v)")
        + (CANDIDATE % ("", "swish(x)"))}, "mine.py"),
    "helpers of PyTorch's compiler": ({
        "mine.py": KERNEL % ("from torch._inductor.runtime import triton_helpers",
                             "triton_helpers.maximum(v, v) * tl.sigmoid(v)")
        + (CANDIDATE % ("", "swish(x)"))}, "mine.py"),
}


def run(client, tools, folder, path):
    place = folder / path
    source = place.read_text()
    reply, _ = client.run(tools.request(source, "ModelNew", file=place.name, folder=str(place.parent)))
    assert reply["status"] == "ok", reply
    built, _ = client.run({"kind": "compile", "source": source, "file": place.name, "arch": "sm_90",
                           "kernels": reply["kernels"]})
    assert built["status"] == "ok", built
    task, made = reply["task"], []

    def launch(step, values):
        made.append(interpret(client, built["kernels"][step["launch"]], step, values))

    _, arguments, result, _ = replay.run_task(task, launch=launch)
    assert [reply["status"] for reply in made] == ["ok"], made
    torch.testing.assert_close(result, torch.nn.functional.silu(arguments[0]))
    return built["kernels"][0]["slice"]


@pytest.mark.parametrize("name", TREES)
def test_kernels_of_other_files(name, client, tools, tmp_path):
    files, path = TREES[name]
    for where, text in files.items():
        (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / where).write_text(text)
    text = run(client, tools, tmp_path, path)
    assert "import parts" not in text and "class " not in text and "def kernel(" in text


def test_a_file_of_a_package_may_hold_both(client, tools, tmp_path):
    for where, text in {"lib/__init__.py": "", "lib/triton.py": KERNEL % ("", "v * tl.sigmoid(v)"),
                        "lib/both.py": (CANDIDATE % ("from .triton import swish", "swish(x)")).replace(
                            "class ModelNew", "class Model(torch.nn.Module):\n    pass\n"
                            "assert __name__.startswith('lib.')\nclass ModelNew")}.items():
        (tmp_path / where).parent.mkdir(exist_ok=True)
        (tmp_path / where).write_text(text)
    source = (tmp_path / "lib/both.py").read_text()
    reply, _ = client.run(tools.request(source, "ModelNew", file="both.py", folder=str(tmp_path / "lib"),
                                        harness={"source": source, "file": "both.py"}))
    assert reply["status"] == "ok", reply


def test_a_fault_in_a_module_beside_names_its_file(client, tools, tmp_path):
    (tmp_path / "kernels.py").write_text(KERNEL % ("", "v * [1, 2].index(v)"))
    source = CANDIDATE % ("from kernels import swish", "swish(x)")
    reply, _ = client.run(tools.request(source, "ModelNew", folder=str(tmp_path)))
    assert reply["status"] == "ok", reply
    sliced, _ = client.run({"kind": "slice", "source": source, "file": "model.py",
                            "kernels": reply["kernels"]})
    line = next(n for n, text in enumerate((tmp_path / "kernels.py").read_text().splitlines(), 1)
                if "index(v)" in text)
    assert (sliced["status"], sliced["file"], sliced["line"]) == ("refused", "kernels.py", line), sliced


def test_a_name_that_would_mean_another_thing_is_refused(client, tools, tmp_path):
    (tmp_path / "parts.py").write_text(PARTS)
    source = (KERNEL % ("import parts", "gate * parts.gate(v)")).replace(
        "    v = tl", "    gate = 1.0\n    v = tl") + CANDIDATE % ("", "swish(x)")
    reply, _ = client.run(tools.request(source, "ModelNew", folder=str(tmp_path)))
    sliced, _ = client.run({"kind": "slice", "source": source, "file": "model.py",
                            "kernels": reply["kernels"]})
    assert sliced["status"] == "refused" and "parts.gate" in sliced["message"], sliced


def test_a_job_reads_its_package_and_nothing_around_it(client, tools, tmp_path):
    layers = {layer["name"]: layer["active"] for layer in client.ready["sandbox"]}
    if not layers["Landlock files"]:
        pytest.skip("no Landlock here")
    (tmp_path / "home/lib/ops").mkdir(parents=True)
    for package in ("home/lib", "home/lib/ops"):
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "home/lib/words.txt").write_text("of the package")
    (tmp_path / "home/secret.txt").write_text("of the user")
    source = HEAD + """
assert open(%r).read() == "of the package"
try:
    open(%r)
    raise SystemExit("it was read")
except PermissionError:
    pass
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    return [torch.randn(3)]
""" % (str(tmp_path / "home/lib/words.txt"), str(tmp_path / "home/secret.txt"))
    reply, _ = client.run(tools.request(source, "ModelNew", folder=str(tmp_path / "home/lib/ops")))
    assert reply["status"] == "ok", reply
