"""The policy `local` with a tiny model of random weights, and `kernelwright train`."""

import json
import os
import pathlib
import signal
import stat
import struct
import subprocess
import time

import numpy
import pytest

from command import DOUBLED_MODEL, MODELS, TESTS, binary, run

TOKENIZER = TESTS / "vectors" / "tokenizers" / "trained" / "tokenizer.json"
WIDTH, INNER, HEADS, HEAD = 32, 48, 4, 8


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": value.shape,
                        "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            out.write(value.tobytes())


def write_model(folder, context=512):
    """Qwen3 with one layer. Its end token's embedding is 0 and the others' are large, so that
    almost every answer goes on to the last token that it may have."""
    tokenizer = json.loads(TOKENIZER.read_text())
    end = next(t["id"] for t in tokenizer["added_tokens"] if t["content"] == "<|endoftext|>")
    words = max(t["id"] for t in tokenizer["added_tokens"]) + 1
    random = numpy.random.default_rng(7)

    def drawn(rows, columns, deviation=0.02):
        return random.normal(0, deviation, (rows, columns)).astype(numpy.float32)

    def ones(count):
        return numpy.ones(count, numpy.float32)

    tensors = {"model.embed_tokens.weight": drawn(words, WIDTH, 0.5), "model.norm.weight": ones(WIDTH)}
    tensors["model.embed_tokens.weight"][end] = 0
    shapes = {"self_attn.q_proj": (HEADS * HEAD, WIDTH), "self_attn.k_proj": (HEADS * HEAD, WIDTH),
              "self_attn.v_proj": (HEADS * HEAD, WIDTH), "self_attn.o_proj": (WIDTH, HEADS * HEAD),
              "mlp.gate_proj": (INNER, WIDTH), "mlp.up_proj": (INNER, WIDTH),
              "mlp.down_proj": (WIDTH, INNER)}
    for name, shape in shapes.items():
        tensors["model.layers.0.%s.weight" % name] = drawn(*shape)
    for name, count in (("input_layernorm", WIDTH), ("post_attention_layernorm", WIDTH),
                        ("self_attn.q_norm", HEAD), ("self_attn.k_norm", HEAD)):
        tensors["model.layers.0.%s.weight" % name] = ones(count)
    folder.mkdir()
    write_safetensors(folder / "model.safetensors", tensors)
    (folder / "tokenizer.json").write_text(TOKENIZER.read_text())
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": words,
        "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": 1,
        "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": HEAD,
        "max_position_embeddings": context, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
        "tie_word_embeddings": True, "attention_bias": False, "hidden_act": "silu",
        "eos_token_id": end}))
    return folder


def write_adapter(folder, base, rank=2):
    """To a model of write_model(), of one matrix; as PEFT writes it."""
    folder.mkdir()
    random = numpy.random.default_rng(8)
    name = "base_model.model.model.layers.0.mlp.down_proj.lora_%s.weight"
    write_safetensors(folder / "adapter_model.safetensors", {
        name % "A": random.normal(0, 1, (rank, INNER)).astype(numpy.float32),
        name % "B": random.normal(0, 1, (WIDTH, rank)).astype(numpy.float32)})
    (folder / "adapter_config.json").write_text(json.dumps({
        "peft_type": "LORA", "r": rank, "lora_alpha": 4, "target_modules": ["down_proj"],
        "base_model_name_or_path": base}))
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("local") / "tiny")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "doubled.py"
    path.write_text(DOUBLED_MODEL)
    return path


def command(program, model, *flags):
    return ["eval", program, "--backend", "cpu", "--trials", "1", "--policy", "local", "--model",
            model, "--model-device", "cpu", *flags]


def read(process):
    """(rows of models, costs)"""
    assert process.returncode == 0, process.stderr
    *rows, last = [json.loads(line) for line in process.stdout.splitlines()]
    return rows, last["costs"]


def wait_for(found, seconds=120):
    """What found() gives once it is something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := found():
            return value
        time.sleep(0.02)
    pytest.fail("waited in vain")


def server_of(pid):
    """(pid, socket) of a server that this process started and that takes requests."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words = (entry / "cmdline").read_text().split("\0")
        except (OSError, IndexError):
            continue  # it has ended meanwhile
        if parent == pid and "serve" in words:
            socket = words[words.index("--socket") + 1]
            return (int(entry.name), socket) if os.path.exists(socket) else None
    return None


def answering(pid):
    """Of a server that this process started, once a request is under way: its pid."""
    server = server_of(pid)
    if not server:
        return None
    # The one that listens, and a connection that it has taken.
    sockets = [line for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
               if line.endswith(server[1])]
    return server[0] if len(sockets) > 1 else None


def is_alive(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def start(program, model, folder, *flags):
    """A run that takes long: answers of thousands of tokens."""
    words = command(program, model, "--samples", "16", "--concurrency", "4", *flags)
    # A shell that puts the tests into its background has interrupts ignored in all that they start.
    return subprocess.Popen([binary(), *map(str, words)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "TMPDIR": str(folder)},
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def test_samples_are_judged_and_counted(tiny, tmp_path):
    process = run(*command(MODELS / "gated_norm.py", tiny, "--samples", "2", "--max-tokens", "40",
                           "--json"), env={"TMPDIR": str(tmp_path)})
    [row], costs = read(process)
    assert row["outcome"] == "rejected", row
    assert [s["rejected_at"] for s in row["samples"]] == ["load", "load"]
    assert all("cut off" in s["reason"] and s["family"] == "local" for s in row["samples"]), row
    assert (costs["requests"], costs["failures"]) == (2, 0)
    assert 0 < costs["completion_tokens"] <= 80 and costs["prompt_tokens"] > 0
    assert costs["seconds"] > 0
    rate = costs["completion_tokens"] / costs["seconds"]
    assert costs["tokens_per_second"] == pytest.approx(rate, rel=0.01)
    assert "policy local: " in process.stderr and "tokens_per_second" in process.stderr
    assert not list(tmp_path.glob("kw-model-*"))


def test_a_task_without_room_is_a_sample_that_was_not_judged(program, tmp_path):
    small = write_model(tmp_path / "small", context=16)
    [row], costs = read(run(*command(program, small, "--json")))
    [sample] = row["samples"]
    assert sample["outcome"] == "not judged" and "leaves no room" in sample["reason"]
    assert costs["failures"] == 1


def test_an_adapter_is_a_model(program, tiny):
    adapter = write_adapter(tiny.parent / "adapter", "../tiny")
    [row], costs = read(run(*command(program, adapter, "--max-tokens", "5", "--json")))
    assert row["samples"][0]["rejected_at"] == "load", row
    assert costs["completion_tokens"] == 5
    for base, words in (("../elsewhere", "../elsewhere"), ("..", "config.json")):
        lost = write_adapter(tiny.parent / ("to_" + words.strip("./")), base)
        process = run(*command(program, lost))
        assert process.returncode == 2 and words in process.stderr, process.stderr
    wrong = write_adapter(tiny.parent / "wrong", "../tiny")
    config = json.loads((wrong / "adapter_config.json").read_text())
    (wrong / "adapter_config.json").write_text(json.dumps({**config, "r": 3}))
    process = run(*command(program, wrong))
    assert process.returncode == 2 and "[2, %d]" % INNER in process.stderr, process.stderr


def test_a_mix_has_both(program, tiny):
    process = run("eval", program, "--backend", "cpu", "--trials", "1", "--policy", "local,teacher",
                  "--model", tiny, "--samples", "2", "--max-tokens", "20", "--json")
    [row], costs = read(process)
    assert [s["family"] == "local" for s in row["samples"]] == [True, False], row
    assert row["outcome"] == "verified" and costs["local"]["requests"] == 1


def test_optimize_asks_about_fragments(program, tiny, tmp_path):
    process = run("optimize", program, "--backend", "cpu", "--policy", "local", "--model", tiny,
                  "--max-tokens", "20", "--budget", "30s", "--out", tmp_path / "out", "--store",
                  tmp_path / "store.sqlite", "--json")
    found = json.loads(process.stdout)
    assert found["outcome"] == "unchanged" and found["policy_costs"]["requests"] > 0, found


def test_a_server_that_is_killed_is_started_again(program, tmp_path):
    model = write_model(tmp_path / "long", context=8192)
    process = start(program, model, tmp_path, "--max-tokens", "1500", "--json")
    os.kill(wait_for(lambda: answering(process.pid)), signal.SIGKILL)
    out, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    *rows, last = [json.loads(line) for line in out.splitlines()]
    assert len(rows[0]["samples"]) == 16 and last["costs"]["failures"] == 0, rows
    assert all("cut off" in sample["reason"] for sample in rows[0]["samples"]), rows
    assert not list(tmp_path.glob("kw-model-*"))


def test_a_server_that_is_killed_time_and_again_ends_the_run(program, tmp_path):
    model = write_model(tmp_path / "long", context=8192)
    process = start(program, model, tmp_path)
    while process.poll() is None:
        server = wait_for(lambda: answering(process.pid) or process.poll() is not None)
        if server is not True:
            os.kill(server, signal.SIGKILL)
            wait_for(lambda: not is_alive(server))
    _, told = process.communicate(timeout=120)
    assert process.returncode == 3, told
    assert "the model's server was killed by SIGKILL" in told and "ready" in told
    assert "started 4 times" in told
    assert not list(tmp_path.glob("kw-model-*"))


def test_the_server_dies_with_who_started_it(program, tmp_path):
    model = write_model(tmp_path / "long", context=8192)
    process = start(program, model, tmp_path)
    server = wait_for(lambda: answering(process.pid))
    process.kill()
    process.communicate(timeout=120)
    wait_for(lambda: not is_alive(server))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_interrupted_says_how_it_goes_on(number, program, tmp_path):
    model = write_model(tmp_path / "long", context=8192)
    lines = tmp_path / "lines.jsonl"
    process = start(program, model, tmp_path, *(["--lines", lines] if number == signal.SIGINT else []))
    server = wait_for(lambda: answering(process.pid))
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    if number == signal.SIGINT:
        assert "eval: stopped: 0 of 1 models are in %s; the same command goes on" % lines in told
    else:
        assert "eval: stopped at 0 of 1 models; with --out FOLDER or --lines FILE" in told
    assert not list(tmp_path.glob("kw-model-*"))
    wait_for(lambda: not is_alive(server))


def test_a_server_ends_on_a_signal(tiny, tmp_path):
    trainer = pathlib.Path(binary()).parent / "kernelwright-trainer"
    socket = tmp_path / "socket"
    process = subprocess.Popen([trainer, "serve", "--model", tiny, "--socket", socket, "--device",
                                "cpu"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "ready: qwen3" in process.stderr.readline()
    assert stat.S_ISSOCK(socket.stat().st_mode)
    process.terminate()
    assert process.wait(timeout=120) == 0
    assert not socket.exists()
    process.communicate()


def test_mistakes_are_told(program, tiny, tmp_path):
    process = run(*command(program, tmp_path / "none"))
    assert process.returncode == 2 and "config.json, tokenizer.json" in process.stderr
    broken = write_model(tmp_path / "broken")
    (broken / "config.json").write_text("{}")
    process = run(*command(program, broken))
    assert process.returncode == 2 and "config.json" in process.stderr, process.stderr
    process = run(*command(program, tiny), env={"KERNELWRIGHT_TRAINER": str(tmp_path / "none")})
    assert process.returncode == 3 and "cannot execute" in process.stderr
    # Before the program is read, so that nobody waits for what comes to nothing.
    none = tmp_path / "none.py"
    none.write_text("no program")
    process = run(*command(none, broken))
    assert process.returncode == 2 and "config.json" in process.stderr, process.stderr
    long = tmp_path / ("x" * 100)
    long.mkdir()
    process = run(*command(program, tiny), env={"TMPDIR": str(long)})
    assert process.returncode == 3 and "TMPDIR" in process.stderr


def test_weights_that_are_no_numbers_are_refused(program, tmp_path):
    model = write_model(tmp_path / "broken")
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\xff\xff\xff\xff")
    process = run(*command(program, model, "--samples", "1"))
    assert process.returncode == 2 and "infinite or no numbers" in process.stderr, process.stderr


def test_without_a_model_one_is_asked_for(program, tiny, tmp_path):
    words = ("eval", program, "--backend", "cpu", "--trials", "1", "--policy", "local")
    process = run(*words, env={"KERNELWRIGHT_MODEL": str(tmp_path / "none")})
    assert process.returncode == 2 and "--model FOLDER" in process.stderr
    process = run(*words, "--max-tokens", "5", env={"KERNELWRIGHT_MODEL": str(tiny)})
    assert process.returncode == 0 and "cut off" in process.stdout, process.stderr


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o700)
    return {"KERNELWRIGHT_TRAINER": str(path)}


def test_train_is_the_trainers(tmp_path):
    process = run("train", "--settings", "sft")
    assert process.returncode == 0 and "sft.rate = " in process.stdout
    process = run("train", tmp_path / "none.toml", "--out", tmp_path / "run")
    assert process.returncode == 2 and "none.toml: cannot be read" in process.stderr
    assert run("train").returncode == 2
    env = script(tmp_path / "trainer", 'printf "%s\\n" "$@"; exit 7\n')
    process = run("train", "--set", "a=1", "r.toml", "--set", "b=x y", "--out", "o", env=env)
    assert process.returncode == 7
    assert process.stdout.splitlines() == ["train", "r.toml", "--out", "o", "--set", "a=1", "--set",
                                           "b=x y"]
    process = run("train", "r.toml", env={"KERNELWRIGHT_TRAINER": str(tmp_path / "none")})
    assert process.returncode == 3 and "cannot execute" in process.stderr


def test_an_interrupt_reaches_the_trainer(tmp_path):
    env = script(tmp_path / "trainer", "trap 'exit 130' INT\necho up\nwhile :; do sleep 0.05; done\n")
    # A shell that puts the tests into its background has interrupts ignored in all that they start.
    process = subprocess.Popen([binary(), "train", "r.toml"], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, **env},
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.parametrize("call", ["torch.nn.functional.silu(x)", "torch.softmax(x, 1)", "x.sum(0)"])
def test_the_embedded_model_writes_right_kernels(tmp_path, call):
    text = DOUBLED_MODEL.replace("torch.relu(x) * 2.0", call).replace("(40, 30)", "(37, 129)")
    (tmp_path / "m.py").write_text(text)
    process = run("eval", tmp_path / "m.py", "--policy", "local", "--backend", "cpu", "--coverage", "pure",
                  "--max-tokens", "1500", "--samples", "3", "--seed", "5", "--until-accepted")
    assert process.returncode == 0 and "1 verified" in process.stdout + process.stderr, process.stderr
