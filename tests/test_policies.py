"""Policies that do not compute their answers: a chat endpoint, a folder of answers, and mixes."""

import json
import os
import shutil
import ssl
import subprocess
import sys
import time

import pytest

import chat_server
from chat_server import breaks_off, holds, refuses, says, says_at_once, serving, stalls
from command import DOUBLED_KERNEL, DOUBLED_MODEL, ROOT, run

ANSWER = "<think>relu...</think>t0, t1: pointwise, 256 a program, 4 warps\n\n```python\n%s```\n"
RIGHT = ANSWER % (DOUBLED_KERNEL % "2.0")
WRONG = ANSWER % (DOUBLED_KERNEL % "3.0")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "doubled.py"
    path.write_text(DOUBLED_MODEL)
    return path


def evaluate(model, *flags, env=None, ok=True):
    """(process, rows of models, costs)"""
    process = run("eval", model, "--backend", "cpu", "--trials", "1", "--json", *flags,
                  env={"OPENAI_API_KEY": "", **(env or {})})
    if not ok:
        return process
    assert process.returncode == 0, process.stderr
    rows = [json.loads(line) for line in process.stdout.splitlines()]
    last = rows.pop()
    assert "summary" in last
    return process, rows, last.get("costs")


def ask(model, script, *flags, env=None, ok=True):
    with serving(script) as server:
        found = evaluate(model, "--policy", "openai", "--policy-url", server.url(),
                         "--policy-model", "tiny", *flags, env=env, ok=ok)
    return found, server


def outcomes(row):
    return [(s["outcome"], s["rejected_at"]) for s in row["samples"]]


def test_a_right_answer_is_verified(model, tmp_path):
    (process, [row], costs), server = ask(
        model, lambda n, body: says(RIGHT), "--temperature", "0.5", "--top-p", "0.9",
        "--max-tokens", "900", "--prompt-price", "2", "--completion-price", "10", "--seed", "3",
        "--policy-key-env", "SOME_KEY", "--out", tmp_path, env={"SOME_KEY": "secret-word"})
    assert row["outcome"] == "verified", row
    assert row["samples"][0]["plan"] == "t0, t1: pointwise, 256 a program, 4 warps"
    [body], [headers], [path] = server.bodies, server.headers, server.paths
    assert path == "/v1/chat/completions" and headers["Authorization"] == "Bearer secret-word"
    assert (body["model"], body["temperature"], body["top_p"], body["max_tokens"],
            body["stream"]) == ("tiny", 0.5, 0.9, 900, True)
    assert isinstance(body["seed"], int)
    user = body["messages"][1]["content"]
    assert "a0,  # float32 (40, 30)" in user and "torch.relu(a0)" in user and "H200" in user
    seconds = costs.pop("seconds")
    assert 0 <= seconds < 60
    assert costs == {"requests": 1, "retries": 0, "failures": 0, "prompt_tokens": 100,
                     "completion_tokens": 50, "cost": 1e-6 * (100 * 2 + 50 * 10)}
    assert "prompt_tokens 100" in process.stderr
    assert "secret-word" not in process.stdout + process.stderr
    assert "class ModelNew(Model)" in (tmp_path / "doubled.0.py").read_text()


def test_each_sample_is_judged_by_what_it_is(model):
    """Right, wrong, no code, code that is cut off."""
    replies = [says(RIGHT), says(WRONG), says("I would rather not."),
               says(RIGHT[:-30], finish="length")]
    (_, [row], costs), server = ask(model, lambda n, body: replies[n], "--samples", "4",
                                    "--concurrency", "1")
    assert row["outcome"] == "verified"
    assert outcomes(row) == [("accepted", None), ("rejected", "correct"), ("rejected", "load"),
                             ("rejected", "load")]
    assert "no code block" in row["samples"][2]["reason"]
    assert "cut off" in row["samples"][3]["reason"]
    assert costs["requests"] == 4 and costs["failures"] == 0
    assert len({body["seed"] for body in server.bodies}) == 4


def test_until_accepted_passes_over_answers_without_code(model):
    replies = [says("no"), says(WRONG), says(RIGHT)]
    (_, [row], _), _ = ask(model, lambda n, body: replies[n], "--samples", "3", "--concurrency",
                           "1", "--until-accepted")
    assert row["outcome"] == "verified"
    (_, [row], _), _ = ask(model, lambda n, body: says("no"), "--samples", "3", "--until-accepted")
    assert row["outcome"] == "rejected" and len(row["samples"]) == 3


def test_an_endpoint_that_does_not_stream(model):
    (_, [row], costs), _ = ask(model, lambda n, body: says_at_once(RIGHT))
    assert row["outcome"] == "verified" and costs["completion_tokens"] == 50


def test_what_passes_is_tried_again(model):
    replies = [refuses(429, Retry_After="0"), breaks_off(RIGHT), says(RIGHT)]
    (_, [row], costs), server = ask(model, lambda n, body: replies[n])
    assert row["outcome"] == "verified"
    assert (costs["requests"], costs["retries"], costs["failures"]) == (1, 2, 0)
    assert len(server.bodies) == 3 and len({body["seed"] for body in server.bodies}) == 1


FAILURES = [
    (refuses(500, "on fire"), "500: on fire"),
    (refuses(400, "too long"), "400: too long"),
    (lambda h: h.stream(['{"error": {"message": "oops"}}']), "oops"),
    (lambda h: h.stream(["{nonsense"]), "not JSON"),
    (lambda h: h.stream(["[1, 2]"]), "no object"),
    (lambda h: h.whole(200, "application/json", "<html>"), "not JSON"),
    (lambda h: h.stream(["[" * 100000]), "not JSON"),
    (lambda h: h.whole(200, "text/event-stream", b'data: {"a": "\xff"}\n\n'), "not JSON"),
    (lambda h: h.whole(200, "text/event-stream", b"data: " + b"x" * (3 << 20)), "event of the reply"),
    (lambda h: h.stream([chat_server.delta("x" * 500000)] * 4), "the answer is too long"),
    (breaks_off(RIGHT), "transfer closed with outstanding read data"),
    (lambda h: h.whole(200, "text/event-stream", "", Transfer_Encoding="gz\xe9ip"), "is empty"),
    (lambda h: h.wfile.write(b"SSH-2.0-what\r\n\r\n"), "HTTP/0.9"),
    (lambda h: None, "Empty reply from server"),
]


def test_a_sample_that_fails_says_why(model):
    """And is not judged: it says nothing of the model. The others are."""
    replies = [reply for reply, _ in FAILURES] + [says(RIGHT)]
    (_, [row], costs), _ = ask(model, lambda n, body: replies[n], "--policy-retries", "0",
                               "--samples", str(len(replies)), "--concurrency", "1")
    assert outcomes(row) == [("not judged", None)] * len(FAILURES) + [("accepted", None)]
    for sample, (_, reason) in zip(row["samples"], FAILURES):
        assert reason in sample["reason"], (reason, sample["reason"])
    assert row["outcome"] == "verified" and costs["failures"] == len(FAILURES)


def test_the_deadline_ends_what_stalls(model):
    (_, [row], costs), _ = ask(model, lambda n, body: stalls(RIGHT), "--policy-timeout", "2")
    [sample] = row["samples"]
    assert sample["outcome"] == "not judged" and "deadline" in sample["reason"]
    assert 1.5 < costs["seconds"] < 10 and costs["retries"] == 0


@pytest.mark.parametrize("at_once", [1, 3])
def test_requests_under_way_are_bounded(model, at_once):
    (_, [row], costs), server = ask(model, lambda n, body: holds("no", 0.15), "--samples", "8",
                                    "--concurrency", str(at_once))
    assert len(row["samples"]) == 8 and costs["requests"] == 8
    assert server.most <= at_once
    assert server.most > 1 or at_once == 1


def test_models_are_asked_about_at_the_same_time(tmp_path):
    for k in range(6):
        (tmp_path / ("m%d.py" % k)).write_text(DOUBLED_MODEL)
    (_, rows, costs), server = ask(tmp_path, lambda n, body: holds("no", 0.2), "--concurrency", "3")
    assert len(rows) == 6 and costs["requests"] == 6
    assert 1 < server.most <= 3


def test_what_all_requests_would_meet_ends_the_run(model):
    for status, word in ((401, "key"), (404, "--policy-model")):
        process, _ = ask(model, lambda n, body: refuses(status, "go away"), ok=False)
        assert process.returncode == 2 and "go away" in process.stderr and word in process.stderr
    flags = ("--policy", "openai", "--policy-model", "tiny", "--policy-retries", "0")
    process = evaluate(model, *flags, "--policy-url", "http://127.0.0.1:9", ok=False)
    assert process.returncode == 3 and "Failed to connect" in process.stderr


@pytest.mark.parametrize("flags, word", [
    (("--policy", "someone"), "there is no policy"),
    (("--policy", "openai"), "--policy-url"),
    (("--policy", "replay"), "--answers"),
    (("--policy", "teacher,teacher"), "twice"),
    (("--policy", "openai", "--policy-model", "m", "--policy-url", "ftp://x"), "http://"),
    (("--policy", "replay", "--answers", "no/such/folder"), "not found"),
])
def test_mistakes_are_told(model, flags, word):
    process = evaluate(model, *flags, ok=False)
    assert process.returncode == 2 and word in process.stderr, process.stderr


def certificate(folder):
    """Of 127.0.0.1, signed by itself."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return key, cert


@pytest.mark.parametrize("flag, whose", [("--model", "local"), ("--answers", "replay"), ("--policy-url", "openai"),
                                         ("--policy-model", "openai")])
def test_whom_to_ask_is_not_ignored(model, flag, whose):
    for command in ("eval", "optimize"):
        process = run(command, model, "--backend", "cpu", flag, "somewhere")
        assert process.returncode == 2 and "%s is for --policy %s, and --policy is teacher" % (flag, whose) in process.stderr


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl to make a certificate with")
def test_https_with_a_certificate_that_is_checked(model, tmp_path):
    key, cert = certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    with serving(lambda n, body: says(RIGHT), tls) as server:
        flags = ("--policy", "openai", "--policy-model", "tiny", "--policy-url", server.url("https"))
        _, [row], _ = evaluate(model, *flags, env={"SSL_CERT_FILE": str(cert)})
        assert row["outcome"] == "verified", row
        stranger = evaluate(model, *flags, ok=False)
        elsewhere = evaluate(model, *flags[:-1], server.url("https").replace("127.0.0.1", "localhost"),
                             env={"SSL_CERT_FILE": str(cert)}, ok=False)
    for process in (stranger, elsewhere):
        assert process.returncode == 3 and "certificate is not accepted" in process.stderr
        assert "is the server up?" not in process.stderr  # it is, and another try is of no use


def test_answers_are_replayed(model, tmp_path):
    (tmp_path / "doubled.0.md").write_text(WRONG)
    (tmp_path / "doubled.1.py").write_text(DOUBLED_KERNEL % "2.0")
    (tmp_path / "doubled.2.txt").write_text("nothing")
    (tmp_path / "other.0.py").write_text("")
    _, [row], costs = evaluate(model, "--policy", "replay", "--answers", tmp_path, "--samples", "8")
    assert outcomes(row) == [("rejected", "correct"), ("accepted", None), ("rejected", "load")]
    assert costs == {"answers": 4, "tasks_unused": ["other"], "tasks_without": 0}


def test_answers_are_found_by_the_tasks_hash(model, tmp_path):
    empty = tmp_path / "none.jsonl"
    empty.write_text(json.dumps({"task": "another", "answer": RIGHT}) + "\n")
    _, [row], costs = evaluate(model, "--policy", "replay", "--answers", empty)
    assert row["outcome"] == "refused" and row["task"] in row["reason"]
    assert "doubled" in row["reason"] and costs["tasks_without"] == 1
    lines = tmp_path / "answers.jsonl"
    lines.write_text("".join(json.dumps({"task": row["task"], "sample": k, "answer": answer}) + "\n"
                             for k, answer in enumerate([WRONG, RIGHT])))
    _, [row], _ = evaluate(model, "--policy", "replay", "--answers", lines, "--samples", "2")
    assert outcomes(row) == [("rejected", "correct"), ("accepted", None)]


def test_what_eval_leaves_can_be_replayed(model, tmp_path):
    common = ("--samples", "2", "--seed", "5")
    _, [first], _ = evaluate(model, *common, "--out", tmp_path / "out")
    _, [again], _ = evaluate(model, *common, "--policy", "replay", "--answers", tmp_path / "out")
    assert first["outcome"] == "verified" and outcomes(again) == outcomes(first)


def test_mixes_ask_all(model, tmp_path):
    (tmp_path / "doubled.0.txt").write_text(WRONG)
    _, [row], costs = evaluate(model, "--policy", "replay,teacher", "--answers", tmp_path,
                               "--samples", "2")
    families = [sample["family"] for sample in row["samples"]]
    assert families[0] == "replay" and len(families) == 2 and families[1] != "replay"
    assert row["outcome"] == "verified" and costs["replay"]["answers"] == 1


def test_optimize_takes_answers_for_fragments(model, tmp_path):
    with serving(lambda n, body: says(RIGHT)) as server:
        process = run("optimize", model, "--backend", "cpu", "--policy", "openai", "--policy-url",
                      server.url(), "--policy-model", "tiny", "--out", tmp_path / "out", "--store",
                      tmp_path / "store.sqlite", "--json", "--budget", "60s")
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    assert found["outcome"] == "improved", found
    assert found["policy_costs"]["requests"] == len(server.bodies) > 0
    assert "doubled" in (tmp_path / "out" / "optimized.py").read_text()


# Each answer's kernel is k0, with a helper and a constant of the same names; the model has both names for
# something else, which it uses where x has other rows than 16.
MEANS_ELSE = """import torch

SIZE = 3


def act(x):
    return x.repeat(1, SIZE)


class Model(torch.nn.Module):
    def forward(self, x):
        x = x if x.shape[0] == 16 else act(x)
        return torch.sin(x).amax(1)


def get_inputs():
    return [torch.randn(16, 32)]


def get_init_inputs():
    return []
"""
ONE_STEP = """import torch
import triton
import triton.language as tl

SIZE = tl.constexpr(%(size)d)


@triton.jit
def act(x):
    return %(act)s


@triton.jit
def k0(x_ptr, y_ptr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * 32 + tl.arange(0, 32))
    tl.store(y_ptr + row * SIZE + tl.arange(0, SIZE), act(x))


class ModelNew(torch.nn.Module):
    def forward(self, a0):
        y = torch.empty(%(shape)s, device=a0.device)
        k0[(16,)](a0, y)
        return y
"""


def test_fragments_and_the_model_may_mean_different_things_by_a_name(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MEANS_ELSE)

    def answer(n, body):
        asked = body["messages"][-1]["content"].rsplit("def forward", 1)[-1]
        if "sin" in asked and "amax" not in asked:
            return says(ANSWER % (ONE_STEP % {"size": 32, "act": "tl.sin(x)", "shape": "16, 32"}))
        if "amax" in asked and "sin" not in asked:
            return says(ANSWER % (ONE_STEP % {"size": 1, "act": "tl.max(x, 0, keep_dims=True)", "shape": "16"}))
        return says("I do not know.")

    with serving(answer) as server:
        process = run("optimize", path, "--backend", "cpu", "--policy", "openai", "--policy-url", server.url(),
                      "--policy-model", "tiny", "--out", tmp_path / "out", "--store", tmp_path / "store.sqlite",
                      "--coverage", "pure", "--budget", "60s")
    assert process.returncode == 0 and "verified" in process.stdout, process.stdout + process.stderr
    used = """
import torch, optimized
for rows in (16, 8):
    x = torch.randn(rows, 32)
    with torch.no_grad():
        torch.testing.assert_close(optimized.ModelNew()(x), optimized.Model()(x))
"""
    done = subprocess.run([sys.executable, "-c", used], cwd=tmp_path / "out", capture_output=True, text=True,
                          env={**os.environ, "TRITON_INTERPRET": "0"})
    assert done.returncode == 0, done.stderr


# Stands for the program: notes its words, writes its file of lines, and prints a line and a summary for each policy,
# which says what it was of.
PRETENDED = """#!%s
import json, sys
words = sys.argv[1:]
open(%%r, "a").write(json.dumps(words) + "\\n")
main = words[words.index("--model") + 1] if "--model" in words else "teacher"
option = lambda name: [b for a, b in zip(words, words[1:]) if a == name]
open(option("--lines")[0], "a").write("lines\\n")
labels = [main] + [b.split("@")[0] for a, b in zip(words, words[1:]) if a == "--beside"]
for label in labels:
    print(json.dumps({"model": "m.py", "label": label}))
for k, label in enumerate(labels):
    print(json.dumps({"summary": {"solved": {"value": k / 10}, "pass_at": None, "of": label,
                                  "shard": option("--shard"), "merged": len(option("--merge"))}, "executors": {}}))
""" % sys.executable


class Benchmark:
    """bench/policies.py with a program that pretends."""

    def __init__(self, folder):
        self.folder, self.log = folder, folder / "log"
        tool = folder / "tool"
        tool.write_text(PRETENDED % str(self.log))
        tool.chmod(0o700)
        for name in ("a", "b"):
            (folder / name).mkdir()
            (folder / name / "config.json").write_text("{}")

    def rows(self, *policies, flags=()):
        """All rows that there are, and the commands that this call began."""
        self.log.write_text("")
        words = [word for name in policies
                 for word in ("--policy", name if name.startswith("teacher") else "%s=%s" % (name, self.folder / name))]
        done = subprocess.run([sys.executable, ROOT / "bench/policies.py", self.folder / "tool", "--runs",
                               self.folder / "runs", "--out", self.folder / "out.json", "--backend", "cpu",
                               "--levels", "1,2", *words, *flags], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        commands = [json.loads(line) for line in self.log.read_text().splitlines()]
        out = self.folder / "out.json"
        return json.loads(out.read_text())["rows"] if out.exists() else [], commands

    def of(self, row):
        """Whose summary stands in it."""
        return row["summary"]["of"].rsplit("/", 1)[-1]


def test_the_benchmark_measures_policies_of_a_level_in_one_command(tmp_path):
    bench = Benchmark(tmp_path)
    rows, commands = bench.rows("teacher", "a", "b")
    assert [words[1].rsplit("/", 1)[-1] for words in commands] == ["level1.jsonl", "level2.jsonl"]
    for words in commands:
        besides = [other for word, other in zip(words, words[1:]) if word == "--beside"]
        assert words[words.index("--model") + 1] == str(tmp_path / "a") and besides == [str(tmp_path / "b"), "teacher"]
    assert [(row["policy"], row["level"]) for row in rows] == [
        (name, level) for level in (1, 2) for name in ("a", "b", "teacher")]
    for row in rows:
        assert bench.of(row) == row["policy"] and row["search"] is False
        assert "--model MODEL" in row["command"] and "--beside MODEL --beside teacher --json" in row["command"]
    again, commands = bench.rows("b", "teacher", "a")
    assert again == rows and not commands  # kept, whoever is beside and in whatever order


def test_the_benchmark_measures_another_model_of_the_same_name(tmp_path):
    bench = Benchmark(tmp_path)
    level1 = ("--levels", "1")
    bench.rows("a", "teacher", flags=level1)
    (tmp_path / "a" / "config.json").write_text("{ }")
    rows, commands = bench.rows("a", "teacher", flags=level1)
    assert len(commands) == 1 and "--beside" not in commands[0] and len(rows) == 3
    assert rows[0]["content"] != rows[2]["content"]
    # Its lines are others, too.
    assert len({path.name for path in (tmp_path / "runs").glob("a*.out")}) == 2
    # So are those of an adapter whose base is another one.
    (tmp_path / "b" / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "../a"}))
    bench.rows("b", flags=level1)
    assert not bench.rows("b", flags=level1)[1]
    (tmp_path / "a" / "config.json").write_text("{  }")
    assert len(bench.rows("b", flags=level1)[1]) == 1


def test_the_benchmark_measures_what_is_missing(tmp_path):
    bench = Benchmark(tmp_path)
    alone, commands = bench.rows("teacher", flags=("--levels", "1"))
    assert len(commands) == 1 and "--beside" not in commands[0] and "--model" not in commands[0]
    rows, commands = bench.rows("teacher", "a", "b")
    assert rows[0] == alone[0] and [(row["policy"], row["level"]) for row in rows[1:]] == [
        ("a", 1), ("b", 1), ("a", 2), ("b", 2), ("teacher", 2)]
    assert [words.count("--beside") for words in commands] == [1, 2]
    assert not bench.rows("a")[1]
    # Another temperature is another command.
    rows, commands = bench.rows("a", flags=("--temperature", "0.9"))
    assert len(commands) == 2 and [bench.of(row) for row in rows[-2:]] == ["a", "a"]


def test_the_benchmark_may_ask_the_teacher_for_fewer(tmp_path):
    bench = Benchmark(tmp_path)
    level1 = ("--levels", "1")
    rows, [words] = bench.rows("teacher@2", "a", flags=level1)
    assert words[words.index("--samples") + 1] == "10" and "teacher@2" in words
    assert [(row["policy"], bench.of(row)) for row in rows] == [("a", "a"), ("teacher", "teacher")]
    assert not bench.rows("teacher@2", "b", "a", flags=level1)[1][1:]  # b alone
    rows, [words] = bench.rows("teacher", flags=level1)  # ten are another question
    assert words[words.index("--samples") + 1] == "10" and "--beside" not in words
    rows, [words] = bench.rows("teacher@3", flags=level1)
    assert words[words.index("--samples") + 1] == "3"
    assert not bench.rows("teacher@2", "a", "b", flags=level1)[1]


def test_the_benchmark_searches_one_by_one(tmp_path):
    bench = Benchmark(tmp_path)
    rows, commands = bench.rows("teacher", "a", flags=("--search", "6s", "--levels", "1"))
    assert [("--search" in words, words.count("--beside")) for words in commands] == [(False, 1), (True, 0), (True, 0)]
    assert [(row["policy"], row["search"], bench.of(row)) for row in rows] == [
        ("a", False, "a"), ("teacher", False, "teacher"), ("a", True, "a"), ("teacher", True, "teacher")]
    assert not bench.rows("teacher", "a", flags=("--search", "6s", "--levels", "1"))[1]


def test_the_benchmark_shards_its_commands(tmp_path):
    bench = Benchmark(tmp_path)
    level1 = ("--levels", "1")
    rows, commands = bench.rows("a", "teacher", flags=("--gpus", "3", *level1))
    shards = [words[words.index("--shard") + 1] for words in commands[:3]]
    assert sorted(shards) == ["1/3", "2/3", "3/3"] and len(commands) == 4
    files = [words[words.index("--lines") + 1] for words in commands]
    assert len(set(files)) == 4
    assert [row["policy"] for row in rows] == ["a", "teacher"]
    for row in rows:  # of all, not of a shard
        assert row["summary"]["shard"] == [] and row["summary"]["merged"] == 3
        assert len(row["shards"]) == row["gpus"] == 3 and "--shard" not in row["command"]
    # With another number of GPUs it is the same command, and goes on from all lines.
    assert not bench.rows("teacher", "a", flags=level1)[1]
    (tmp_path / "out.json").unlink()
    rows, [words] = bench.rows("a", "teacher", flags=level1)
    merged = [other for word, other in zip(words, words[1:]) if word == "--merge"]
    assert sorted(merged) == sorted(files[:3]) and words[words.index("--lines") + 1] == files[3]


def test_the_benchmark_goes_on_with_the_shards_that_were_ended(tmp_path):
    bench = Benchmark(tmp_path)
    flags, tool = ("--gpus", "2", "--levels", "1"), (tmp_path / "tool").read_text()
    slow = 'import sys, time\nif "2/2" in sys.argv: time.sleep(60)\n'
    (tmp_path / "tool").write_text(tool.replace("\n", "\n" + slow, 1))
    rows, commands = bench.rows("a", flags=(*flags, "--minutes", "0.15"))
    assert not rows and [words[-1] for words in commands] == ["1/2"]
    (tmp_path / "tool").write_text(tool)
    [row], commands = bench.rows("a", flags=flags)
    assert [words[words.index("--shard") + 1] for words in commands[:-1]] == ["2/2"]
    assert row["summary"]["merged"] == 2 and len(row["shards"]) == 2


def test_the_benchmark_says_at_once_that_a_shard_failed(tmp_path):
    bench = Benchmark(tmp_path)
    tool = tmp_path / "tool"
    tool.write_text(tool.read_text().replace("\n", '\nimport sys\nif "2/2" in sys.argv: sys.exit(3)\n', 1))
    done = subprocess.run([sys.executable, ROOT / "bench/policies.py", tool, "--runs", tmp_path / "runs", "--out",
                           tmp_path / "out.json", "--backend", "cpu", "--levels", "1", "--gpus", "2", "--policy", "teacher"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "failed: " in done.stdout and "exit status 3" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["rows"] == []


def test_the_benchmark_goes_on_from_lines(tmp_path):
    """What was under way when the time was over has no row, but its lines, which the next call is given again."""
    bench = Benchmark(tmp_path)
    tool = (tmp_path / "tool").read_text()
    (tmp_path / "tool").write_text(tool.replace("import ", "import time; time.sleep(60)\nimport ", 1))
    begun = time.monotonic()
    rows, commands = bench.rows("a", flags=("--levels", "1", "--minutes", "0.02"))
    assert time.monotonic() - begun < 30 and not rows
    (tmp_path / "tool").write_text(tool)
    rows, commands = bench.rows("a", flags=("--levels", "1"))
    lines = commands[0][commands[0].index("--lines") + 1]
    assert lines.startswith(str(tmp_path / "runs" / "a-1-")) and len(rows) == 1
    assert rows[0]["gpu_seconds"] >= 1 and "--lines" not in rows[0]["command"]
    # Another question has lines of its own.
    _, (other,) = bench.rows("a", flags=("--levels", "1", "--temperature", "0.9"))
    assert other[other.index("--lines") + 1] != lines
