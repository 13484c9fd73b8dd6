"""`kernelwright synth`: what is drawn runs in PyTorch with the sizes that it says, costs what it says,
and is the same for the same flags."""

import json
import re
import subprocess
import time

import pytest
import torch

from command import ALL_TESTS, ROOT, binary, run, third


def draw(path, *flags):
    return examined(path, "--no-hygiene", *flags)


def examined(path, *flags):
    process = run("synth", "--out", path, *flags)
    assert process.returncode == 0, process.stderr
    return [json.loads(line) for line in path.read_text().splitlines()]


def shapes_in_pytorch(row):
    """Of every tensor of the program, as PyTorch's meta tensors have them."""
    body, _, inputs = row["fused_operator"].partition("\n\n\ndef get_inputs")
    lines = ["    return locals()" if line.startswith("    return ") else line
             for line in body.split("\n")]
    names = {}
    with torch.device("meta"):
        exec("\n".join(lines) + "\n\n\ndef get_inputs" + inputs, names)
        return {name: list(tensor.shape)
                for name, tensor in names["fused_operator"](*names["get_inputs"]()).items()}


@pytest.mark.parametrize("level, count, window", [
    (1, 1200, None), (2, 800, None), (5, 500, None), (20, 20, None), (3, 800, "2^12:2^16"),
])
def test_every_size_is_pytorchs(tmp_path, level, count, window):
    rows = draw(tmp_path / "tasks.jsonl", "--level", level, "--count", count,
                *(["--window", window] if window else []))
    assert len(rows) == count
    for row in rows:
        assert len(row["steps"]) == level
        assert shapes_in_pytorch(row) == row["tensors"], row["id"]
        low, high = row["window"]
        assert low <= row["flops"] <= high
        sizes = [size for shape in row["tensors"].values() for size in shape]
        assert 1 <= min(sizes) and max(sizes) <= 8192
        elements = [torch.Size(shape).numel() for shape in row["tensors"].values()]
        assert max(elements) <= 2 ** 30 and sum(elements) <= 2 ** 32
        read = [name for step in row["steps"] for name in step["operands"]]
        for index, step in enumerate(row["steps"][1:], 1):
            earlier = {before["result"] for before in row["steps"][:index]}
            assert earlier & set(step["operands"]), "step %d reads no earlier result" % index
        assert set(row["tensors"]) - set(read) <= {step["result"] for step in row["steps"]}


def test_operations_are_those_of_the_operator_table(tmp_path):
    """PyTorch's own counter of products and convolutions, and elements by hand for the rest."""
    from torch.utils.flop_counter import FlopCounterMode
    counted = 0
    products = "Matmul,Bmm,Conv1d,Conv2d,Conv3d"
    for row in draw(tmp_path / "products.jsonl", "--level", 2, "--count", 200, "--only", products):
        names = {}
        with torch.device("meta"):
            exec(row["fused_operator"], names)
            with FlopCounterMode(display=False) as counter:
                names["fused_operator"](*names["get_inputs"]())
        assert counter.get_total_flops() == row["flops"], row["id"]
        counted += 1
    for row in draw(tmp_path / "pointwise.jsonl", "--level", 2, "--count", 100, "--only", "Add,ReLU"):
        assert row["flops"] == sum(torch.Size(row["tensors"][step["result"]]).numel()
                                   for step in row["steps"])
    assert counted == 200


def test_models_follow_the_convention_and_run(tmp_path):
    for row in draw(tmp_path / "tasks.jsonl", "--level", 4, "--count", 60, "--window", "2^8:2^14"):
        names = {}
        exec(row["model"], names)
        torch.manual_seed(0)
        results = names["Model"](*names["get_init_inputs"]())(*names["get_inputs"]())
        results = results if isinstance(results, tuple) else (results,)
        read = {name for step in row["steps"] for name in step["operands"]}
        outputs = [step["result"] for step in row["steps"] if step["result"] not in read]
        assert [list(result.shape) for result in results] == \
            [row["tensors"][name] for name in outputs]


def test_weights_keep_the_scale(tmp_path):
    """What products and convolutions with weights give of normal inputs is about one in size."""
    products = ("Matmul,Bmm,Conv1d,Conv2d,Conv3d,"
                "ConvTranspose1d,ConvTranspose2d,ConvTranspose3d")
    judged = set()
    for row in draw(tmp_path / "tasks.jsonl", "--level", 1, "--count", 400, "--only", products,
                    "--window", "2^16:2^24"):
        tensors, names = row["tensors"], {}
        # Where sizes are small, much is padding, and few numbers say little.
        if min(tensors["x0"][2:], default=32) < 32 or torch.Size(tensors["w0"]).numel() < 64:
            continue
        exec(row["model"], names)
        torch.manual_seed(0)
        with torch.no_grad():
            result = names["Model"]()(*names["get_inputs"]())
        result = result[result != 0]
        assert 0.4 < result.square().mean().sqrt() < 2.5, row["id"]
        judged.add(row["steps"][0]["operator"])
    assert len(judged) >= 6


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_dtypes(tmp_path, dtype):
    for row in draw(tmp_path / "tasks.jsonl", "--level", 3, "--count", 100, "--dtype", dtype):
        names = {}
        with torch.device("meta"):
            exec(row["fused_operator"], names)
            inputs = names["get_inputs"]()
            results = names["fused_operator"](*inputs)
        results = results if isinstance(results, tuple) else (results,)
        assert {tensor.dtype for tensor in inputs} == {getattr(torch, dtype)}
        assert {tensor.dtype for tensor in results} <= {getattr(torch, dtype), torch.int64}


def test_the_same_flags_give_the_same_bytes(tmp_path):
    draw(tmp_path / "a.jsonl", "--level", 5, "--count", 40)
    draw(tmp_path / "b.jsonl", "--level", 5, "--count", 40)
    text = (tmp_path / "a.jsonl").read_bytes()
    assert text == (tmp_path / "b.jsonl").read_bytes()
    draw(tmp_path / "c.jsonl", "--level", 5, "--count", 40, "--seed", 2)
    assert text != (tmp_path / "c.jsonl").read_bytes()


def test_the_published_window(tmp_path):
    """Its lower end is halved until a program reaches it, and no further."""
    flags = ("--level", 1, "--count", 150 if ALL_TESTS else 50, "--window")
    halved = set()
    for row in draw(tmp_path / "published.jsonl", *flags, "published"):
        low, high = row["window"]
        assert low <= row["flops"] <= high == 2 ** 35
        if low > 0:  # views have none
            halved.add(2 ** 34 / low)
            assert (2 ** 34 / low).is_integer() and int(2 ** 34 / low).bit_count() == 1
    assert len(halved) > 2


def test_measures(tmp_path):
    """Weighed by one over each size, sizes are small."""
    flags = ("--level", 1, "--count", 200, "--only", "ReLU,Add", "--measure")

    def median(rows):
        sizes = sorted(max(row["tensors"]["x0"]) for row in rows)
        return sizes[len(sizes) // 2]

    uniform = draw(tmp_path / "uniform.jsonl", *flags, "uniform", "--window", "1:2^30")
    log = draw(tmp_path / "log.jsonl", *flags, "log", "--window", "1:2^30")
    assert median(uniform) > 4 * median(log)


@pytest.mark.parametrize("kept", [0, 1, 700, 20000])
def test_a_killed_run_goes_on(tmp_path, kept):
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    draw(whole, "--level", 3, "--count", 20)
    part.write_bytes(whole.read_bytes()[:kept])
    draw(part, "--level", 3, "--count", 20)
    assert part.read_bytes() == whole.read_bytes()


def test_a_damaged_row_in_the_middle_is_found(tmp_path):
    path = tmp_path / "tasks.jsonl"
    draw(path, "--level", 3, "--count", 5)
    rows = path.read_text().splitlines(keepends=True)
    rows[2] = rows[2][:200] + "\n"
    path.write_text("".join(rows))
    process = run("synth", "--no-hygiene", "--out", path, "--level", 3, "--count", 8)
    assert process.returncode == 2 and "tasks.jsonl:3: is no task" in process.stderr
    assert path.read_text() == "".join(rows)


def test_tasks_of_other_flags_stay(tmp_path):
    path = tmp_path / "tasks.jsonl"
    draw(path, "--level", 3, "--count", 5)
    before = path.read_bytes()
    for other in ({"--level": 2}, {"--seed": 2}, {"--count": 4}, {"--window": "2^20:2^24"}):
        flags = {"--level": 3, "--count": 5} | other
        process = run("synth", "--no-hygiene", "--out", path,
                      *[word for flag in flags.items() for word in flag])
        says = "has 5 rows" if "--count" in other else "other tasks"
        assert process.returncode == 2 and says in process.stderr
        assert path.read_bytes() == before
    note = tmp_path / "note.txt"
    note.write_text("not mine")
    assert run("synth", "--out", note).returncode == 2
    assert note.read_text() == "not mine"


@pytest.mark.parametrize("flags, says", [
    (["--window", "5"], "LOW:HIGH"),
    (["--window", "a:b"], "found a"),
    (["--window", "2^20:2^20"], "twice"),
    (["--only", "Add,Ad"], "no operator Ad"),
    (["--only", "ArgMax", "--level", "2"], "no program"),
    (["--level", "0"], "--level"),
    (["--twin", "7"], "--twin"),
    (["--only", "Transpose", "--level", "2"], "no fair tasks"),
])
def test_mistakes_are_named(tmp_path, flags, says):
    process = run("synth", "--out", tmp_path / "tasks.jsonl", *flags)
    assert process.returncode == 2 and says in process.stderr
    assert not (tmp_path / "tasks.jsonl").exists()


def test_a_full_disk_is_said():
    process = run("synth", "--no-hygiene", "--out", "/dev/full", "--count", 5)
    assert process.returncode in (2, 3)
    assert "/dev/full" in process.stderr


SMALL = ("--backend", "cpu", "--twin", "2^10:2^14")


def results_of(text, seed, dtype=torch.float32):
    """Of a model file whose tensors are drawn from `seed`, computed in `dtype`; and its inputs."""
    names = {}
    exec(text, names)
    torch.manual_seed(seed)
    model, inputs = names["Model"](), names["get_inputs"]()
    with torch.no_grad():
        results = model.to(dtype)(*[tensor.to(dtype) for tensor in inputs])
    return results if isinstance(results, tuple) else (results,)


def far(a, b):
    """Relative RMS of the difference; of integers, the share that is not the same."""
    if not a.is_floating_point():
        return (a != b).double().mean().item()
    a, b = a.double(), b.double()
    return ((a - b).square().mean().sqrt() / b.square().mean().sqrt()).item()


def test_tasks_are_clean(tmp_path):
    """What the examiner let pass, PyTorch finds finite, stable, and not the same on other inputs."""
    rows = examined(tmp_path / "tasks.jsonl", "--level", 4, "--count", 30, *SMALL)
    for row in rows:
        assert shapes_in_pytorch(row) == row["tensors"]
        assert shapes_in_pytorch(row["twin"]) == row["twin"]["tensors"]
        assert row["twin"]["flops"] <= 2 ** 14
        for a, b, other in zip(results_of(row["twin"]["model"], 1),
                               results_of(row["twin"]["model"], 1, torch.float64),
                               results_of(row["twin"]["model"], 2)):
            assert torch.isfinite(b).all(), row["id"]
            # One seed passed; another may be less lucky, by little.
            assert far(a, b) < 1e-2 or not a.is_floating_point(), row["id"]
            assert far(other, a) > 1e-3 or a.numel() < 64, row["id"]


def test_what_only_moves_elements_has_a_small_twin(tmp_path):
    """It counts no operations, and a small window bounds nothing."""
    flags = ("--level", 1, "--count", 6, "--only", "Cat,Triu", "--backend", "cpu",
             "--window", "2^10:2^14", "--twin", "2^10:2^14")
    for row in examined(tmp_path / "tasks.jsonl", *flags):
        small = row.get("twin", row)["tensors"].values()
        assert all(torch.Size(shape).numel() <= 2 ** 14 for shape in small), row["id"]


def test_rows_hold_the_recorded_program(tmp_path):
    [row] = examined(tmp_path / "tasks.jsonl", "--level", 3, "--count", 1, *SMALL)
    model = tmp_path / (row["id"] + ".py")
    model.write_text(row["model"])
    assert run("record", model, "--out", tmp_path / "bundle", "--backend", "cpu").returncode == 0
    recorded = json.loads((tmp_path / "bundle" / "program.json").read_text())
    recorded["source"]["file"] = row["program"]["source"]["file"]
    assert {key: recorded[key] for key in row["program"]} == row["program"]


def operator_table():
    """Of docs/operators.md: name -> (class, FLOPs, the calls that are made of it)."""
    table, cls = {}, None
    for line in (ROOT / "docs/operators.md").read_text().splitlines():
        cls = line[3:] if line.startswith("## ") else cls
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)][1:-1]
        if len(cells) == 7 and cells[0] not in ("operator", "---"):
            name = cells[0] if "." in cells[0] else cells[0] + ".default"
            table["aten." + name] = cls, float(cells[4]), cells[6].split(", ")
    return table


def test_calls_are_recorded_as_the_rows_that_they_name(tmp_path):
    """Every operator, once: what PyTorch runs is what its row names, and costs what is counted."""
    table, seen = operator_table(), set()
    small = ("--window", "2^8:2^14", "--twin", "2^8:2^14", "--backend", "cpu")
    rows = examined(tmp_path / "tasks.jsonl", "--level", 1, "--count", 150, "--cover", "--operators", "all", *small)
    for row in rows:
        [step] = row["steps"]
        seen.add(step["operator"])
        forward, flops = row["program"]["forward"], 0
        numel = [torch.Size(value["shape"]).numel() for value in forward["values"]]
        for each in forward["steps"]:
            cls, cost, calls = table[each["op"]]
            if cls in ("View", "Factory"):
                continue
            assert step["operator"] in calls or each["op"] == "aten.clone.default", (row["id"], each["op"])
            read = [arg["v"] for arg in each["args"].values() if isinstance(arg, dict) and "v" in arg]
            flops += cost * max(numel[value] for value in read + each["results"] if value is not None)
        if cls not in ("Matmul", "Convolution", "Attention"):
            assert flops == row["flops"], row["id"]
    assert len(seen) >= 140  # some give no task at times


@pytest.mark.parametrize("level, operators, flaw", [
    (4, "Softmax,Sum", "constant"),  # over the dim of a softmax
    (4, "Max,Maximum", "ignored"),   # a maximum of many, and a single number
    (8, "Exp2", "not finite"),       # of itself
    (3, "LayerNorm,Sum", "unstable"),  # of what has mean zero
])
def test_flaws_are_found(tmp_path, level, operators, flaw):
    rows = examined(tmp_path / "tasks.jsonl", "--level", level, "--count", 20, "--only", operators,
                    *SMALL)
    rejected = [program for row in rows for program in row["rejected"]]
    assert flaw in {program["flaw"] for program in rejected}, rejected
    for program in rejected:
        assert program["reason"] and set(program["operators"]) <= set(operators.split(","))


def test_examined_runs_go_on(tmp_path):
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    flags = ("--level", 3, "--only", "Softmax,Sum,Add", "--count")
    examined(whole, *flags, 12, *SMALL)
    text = whole.read_bytes()
    part.write_bytes(text[:len(text) * 2 // 3])
    examined(part, *flags, 12, *SMALL)
    assert part.read_bytes() == text
    for other in (["--no-hygiene"], [*SMALL, "--seed", 2], [*SMALL[:3], "2^9:2^14"]):
        process = run("synth", "--out", whole, *flags, 12, *other)
        assert process.returncode == 2 and "other tasks" in process.stderr
        assert whole.read_bytes() == text


def test_splits_share_nothing(tmp_path):
    splits = ("train", "validation", "test", "unseen")
    structures = {}
    for split in splits:
        rows = draw(tmp_path / (split + ".jsonl"), "--level", 2, "--count", 150, "--split", split)
        assert {row["split"] for row in rows} == {split}
        assert all(split in row["id"] for row in rows)
        structures[split] = {row["structure"] for row in rows}
    for split in splits:
        for other in splits:
            assert split == other or not structures[split] & structures[other]


def test_pairs_are_covered(tmp_path):
    operators = "Add,ReLU,Matmul,Softmax"
    rows = draw(tmp_path / "tasks.jsonl", "--level", 2, "--count", 16, "--cover", "--only", operators)
    pairs = {tuple(step["operator"] for step in row["steps"]) for row in rows}
    assert len(pairs) == 16


def test_tasks_are_examined_again(tmp_path):
    path = tmp_path / "tasks.jsonl"
    rows = examined(path, "--level", 2, "--count", 6, *SMALL)
    process = run("synth", "--check", path, "--seed", 5, "--backend", "cpu")
    assert process.returncode == 0 and "6 tasks examined by their twins" in process.stdout
    # A result that is always the same, and a model that cannot run.
    rows[1]["twin"]["model"] = rows[1]["twin"]["model"].replace("    return ", "    return 0 * ", 1)
    rows[2]["twin"]["model"] = rows[2]["twin"]["model"].replace("return t", "return nowhere, t")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    process = run("synth", "--check", path, "--seed", 5, "--backend", "cpu")
    said = {line.split(":")[0]: line.split(": ")[1] for line in process.stdout.splitlines()
            if line.startswith("level")}
    assert said.get(rows[1]["id"]) == "constant", process.stdout
    assert said.get(rows[2]["id"]) == "does not run", process.stdout
    path.write_text("{}\n")
    process = run("synth", "--check", path, "--backend", "cpu")
    assert process.returncode == 2 and "tasks.jsonl:1" in process.stderr


def test_suites_are_whole():
    """What the repository holds: a hundred tasks of each level, clean, with twins, of the test split."""
    for level, least in ((1, 60), (2, 99), (5, 100), (20, 100)):
        rows = [json.loads(line) for line in
                (ROOT / "suites" / ("level%d.jsonl" % level)).read_text().splitlines()]
        assert len(rows) == len({row["id"] for row in rows}) == 100
        assert {row["level"] for row in rows} == {level}
        assert {row["split"] for row in rows} == ({None} if level == 1 else {"test"})
        words = {tuple(step["operator"] for step in row["steps"]) for row in rows}
        assert len(words) >= least
        for row in third(rows):
            assert shapes_in_pytorch(row) == row["tensors"]
            assert shapes_in_pytorch(row["twin"]) == row["twin"]["tensors"]
            assert row["twin"]["flops"] <= 2 ** 28
            assert row["program"]["forward"]["steps"]


def test_a_folder_that_is_not_there_is_said(tmp_path):
    process = run("synth", "--no-hygiene", "--out", tmp_path / "nowhere" / "tasks.jsonl", "--count", 5)
    assert process.returncode == 2 and "there is no folder" in process.stderr


def test_two_runs_do_not_write_one_file(tmp_path):
    out = tmp_path / "tasks.jsonl"
    flags = ["synth", "--level", "20", "--count", "1000000", "--no-hygiene", "--out", str(out)]
    with subprocess.Popen([binary(), *flags], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as first:
        while not (out.exists() and out.stat().st_size > 0):
            time.sleep(0.05)
        second = run(*flags)
        first.kill()
    assert second.returncode == 2 and "another run" in second.stderr
    rows = out.read_text().splitlines()[:-1]
    assert [json.loads(row)["id"][-6:] for row in rows] == ["%06d" % i for i in range(len(rows))]


def test_a_file_of_ones_own_is_not_emptied(tmp_path):
    """Whatever it begins with, and without an end of its only line."""
    out = tmp_path / "mine.json"
    out.write_text('{"dtype":"float32","mine":[1,2,3]}')
    refused = run("synth", "--level", "2", "--count", "1", "--no-hygiene", "--out", out)
    assert refused.returncode == 2 and "other tasks" in refused.stderr
    assert out.read_text() == '{"dtype":"float32","mine":[1,2,3]}'
