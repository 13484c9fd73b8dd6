"""`kernelwright recipe export --to verl`: what it writes, read by other means, and rewards of real
answers."""

import asyncio
import importlib.util
import json
import math
import os
import re
import stat

import pytest

from command import ROOT, run

RECIPE = {
    "run": {"kind": "rl", "seed": 7, "target": "h100"},
    "data": {"levels": [1, 2], "log_low": [10, 12], "log_high": [12, 14], "log_elements": 12,
             "longest_prompt": 900},
    "rl": {"objective": "grpo_speed", "advantage": "centred", "clip_low": 0.1, "clip_high": 0.28,
           "kl_weight": 0.02, "steps": 5, "prompts": 6, "answers": 3, "prompts_per_update": 2,
           "epochs": 2, "max_tokens": 700, "temperature": 0.7, "rows": 12, "row": 2048,
           "rows_at_once": 2, "rate": 2e-6, "last_share": 0.25, "warmup": 3, "decay": 0.01,
           "clip_norm": 0.5, "beta2": 0.98, "overlap": False, "checkpoint_every": 4},
    "judge": {"backend": "cpu", "trials": 1, "time": False},
    "curriculum": {"one_by_one": True, "validation": 5, "evaluate_every": 3, "patience": 0},
}
# Written by hand from verl's own configuration, not from the exporter's table.
EXPECTED = {
    "data.train_batch_size": 6,
    "data.max_prompt_length": 900 + 512,  # instructions
    "data.max_response_length": 700,
    "data.shuffle": False,
    "actor_rollout_ref.model.path": "???",
    "actor_rollout_ref.actor.ppo_mini_batch_size": 2,
    "actor_rollout_ref.actor.ppo_epochs": 2,
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": 4096,
    "actor_rollout_ref.actor.use_dynamic_bsz": True,
    "actor_rollout_ref.actor.optim.lr": 2e-6,
    "actor_rollout_ref.actor.optim.lr_warmup_steps": 3,
    "actor_rollout_ref.actor.optim.lr_scheduler_type": "cosine",
    "actor_rollout_ref.actor.optim.min_lr_ratio": 0.25,
    "actor_rollout_ref.actor.optim.weight_decay": 0.01,
    "actor_rollout_ref.actor.optim.betas": [0.9, 0.98],
    "actor_rollout_ref.actor.optim.clip_grad": 0.5,
    "actor_rollout_ref.actor.grad_clip": 0.5,
    "actor_rollout_ref.actor.clip_ratio_low": 0.1,
    "actor_rollout_ref.actor.clip_ratio_high": 0.28,
    "actor_rollout_ref.actor.use_kl_loss": True,
    "actor_rollout_ref.actor.kl_loss_coef": 0.02,
    "actor_rollout_ref.actor.kl_loss_type": "low_var_kl",
    "actor_rollout_ref.actor.loss_agg_mode": "seq-mean-token-mean",
    "actor_rollout_ref.rollout.n": 3,
    "actor_rollout_ref.rollout.temperature": 0.7,
    "actor_rollout_ref.rollout.top_p": 1.0,
    "actor_rollout_ref.rollout.val_kwargs.temperature": 0.7,
    "actor_rollout_ref.rollout.max_num_seqs": 12,
    "actor_rollout_ref.rollout.seed": 7,
    "algorithm.adv_estimator": "grpo",
    "algorithm.norm_adv_by_std_in_grpo": False,
    "reward.reward_manager.name": "naive",
    "reward.custom_reward_function.name": "compute_score",
    "trainer.total_training_steps": 5,
    "trainer.save_freq": 4,
    "trainer.test_freq": 3,
    "trainer.experiment_name": "mine",
}


def write_recipe(path, tables):
    text, source = "", "[source]\n"
    for table, values in tables.items():
        text += f"[{table}]\n"
        for key, value in values.items():
            text += f"{key} = {json.dumps(value)}\n"
            source += f'"{table}.{key}" = "published"\n'
    path.write_text(text + source)
    return path


def export(recipe, out, *flags):
    return run("recipe", "export", recipe, "--to", "verl", "--out", out, *flags, timeout=550,
               env={"OMP_NUM_THREADS": "1"})


def read_yaml(path):
    """Dotted keys of block mappings whose scalars are JSON: all that is written."""
    out, open_keys = {}, []
    for line in path.read_text().splitlines():
        line = re.sub(r"(^|  )# .*", "", line)
        found = re.fullmatch(r"( *)(\w+):(?: (.+))?", line)
        if not found:
            continue  # a list of hydra's
        depth = len(found[1]) // 2
        open_keys = open_keys[:depth] + [found[2]]
        if found[3]:
            out[".".join(open_keys)] = json.loads(found[3])
    return out


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def load_reward(folder):
    spec = importlib.util.spec_from_file_location("reward", folder / "reward.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """(folder, what was said)"""
    base = tmp_path_factory.mktemp("recipe")
    done = export(write_recipe(base / "mine.toml", RECIPE), base / "out", "--tasks", "9")
    assert done.returncode == 0, done.stderr
    return base / "out", done.stderr


def test_the_configuration_says_what_the_recipe_says(exported):
    folder, _ = exported
    found = read_yaml(folder / "verl.yaml")
    assert {key: found.get(key) for key in EXPECTED} == EXPECTED
    assert found["data.train_files"] == str(folder / "train.jsonl")
    assert found["data.val_files"] == str(folder / "validation.jsonl")
    assert found["reward.custom_reward_function.path"] == str(folder / "reward.py")
    text = (folder / "verl.yaml").read_text()
    assert "lr: 2.0e-06  # rl.rate, published" in text  # 2e-06 is text to YAML 1.1
    assert os.stat(folder / "run.sh").st_mode & stat.S_IXUSR
    assert "verl.trainer.main_ppo" in (folder / "run.sh").read_text()
    options = json.loads((folder / "reward.json").read_text())
    assert options["objective"] == "grpo_speed"
    flags = " ".join(options["eval"])
    assert flags == "--coverage pure --device h100 --backend cpu --trials 1 --no-time"


def test_what_has_no_place_is_named(exported):
    folder, said = exported
    for text in (said, (folder / "README.md").read_text()):
        assert "curriculum.one_by_one = true has no place" in text
        assert "30 tasks are read, of which 9 are different" in text
        assert "actor_rollout_ref.model.path=MODEL" in text
    readme = (folder / "README.md").read_text()
    settings = run("train", "--settings", "rl").stdout
    keys = re.findall(r"^([a-z]+\.\w+) = ", settings, re.MULTILINE)
    assert len(keys) > 60
    for key in keys:
        assert f"| `{key} = " in readme, key


def test_tasks_are_drawn_by_the_recipe(exported):
    folder, _ = exported
    train, held_out = rows_of(folder / "train.jsonl"), rows_of(folder / "validation.jsonl")
    assert (len(train), len(held_out)) == (9, 5)
    ids = [row["reward_model"]["ground_truth"] for row in train + held_out]
    assert len(set(ids)) == len(ids)
    assert {row["extra_info"]["level"] for row in train} == {"1", "2"}
    models = {row["extra_info"]["model"] for row in train}
    assert not models & {row["extra_info"]["model"] for row in held_out}
    for index, row in enumerate(train):
        assert set(row) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
        assert row["data_source"] == f"kernelwright-level{row['extra_info']['level']}"
        assert row["extra_info"]["index"] == index and row["extra_info"]["split"] == "train"
        system, user = row["prompt"]
        assert (system["role"], user["role"]) == ("system", "user")
        assert "H100" in user["content"] and "def forward(" in user["content"]


def test_the_same_recipe_gives_the_same_tasks(exported, tmp_path):
    folder, _ = exported
    done = export(write_recipe(tmp_path / "mine.toml", RECIPE), tmp_path / "out", "--tasks", "6",
                  "--set", "curriculum.validation=1")
    assert done.returncode == 0, done.stderr
    drawn = rows_of(tmp_path / "out" / "train.jsonl")
    assert [row["prompt"] for row in drawn] == [
        row["prompt"] for row in rows_of(folder / "train.jsonl")[:6]]


@pytest.fixture(scope="module")
def answers(exported, tmp_path_factory):
    """Of two held-out tasks: (row, what the teacher writes)"""
    base = tmp_path_factory.mktemp("answers")
    rows = {row["reward_model"]["ground_truth"]: row
            for row in rows_of(exported[0] / "validation.jsonl")[:3]}
    (base / "tasks.jsonl").write_text("".join(
        json.dumps({"id": task, "model": row["extra_info"]["model"]}) + "\n"
        for task, row in rows.items()))
    done = run("eval", base / "tasks.jsonl", "--backend", "cpu", "--trials", "1", "--out",
               base / "out", "--coverage", "pure", "--device", "h100")
    assert done.returncode == 0, done.stderr
    out = []
    for task, row in rows.items():
        if (base / "out" / f"{task}.0.py").exists():  # was accepted
            code = (base / "out" / f"{task}.0.fragment.py").read_text()
            out.append((row, f"a plan\n\n```python\n{code}\n```\n"))
    assert len(out) >= 2, done.stdout
    return out[:2]


def asked(pairs):
    return dict(data_sources=[row["data_source"] for row, _ in pairs],
                solution_strs=[text for _, text in pairs],
                ground_truths=[row["reward_model"]["ground_truth"] for row, _ in pairs],
                extra_infos=[dict(row["extra_info"], num_turns=1) for row, _ in pairs])


def test_answers_are_worth_what_they_are(exported, answers):
    reward = load_reward(exported[0])
    (first, right), (second, also_right) = answers
    wrong = re.sub(r"(tl\.store\([^,]+, )", r"\g<1>1.5 + ", right)
    assert wrong != right
    pairs = [(first, right), (first, wrong), (second, also_right), (first, "I would rather not."),
             (second, right[: len(right) // 2]), (second, "\ud800 \0 class ModelNew")]
    scores = reward.compute_scores(**asked(pairs))
    assert [s["score"] for s in scores] == [1, 0, 1, 0, 0, 0]
    assert [s["acc"] for s in scores] == [1, 0, 1, 0, 0, 0]
    assert [s["judged"] for s in scores] == [1] * 6
    assert [s["valid"] for s in scores][:4] == [1, 1, 1, 0]
    assert len({tuple(s) for s in scores}) == 1  # verl wants the same keys of each
    # Two tasks of one name are two tasks.
    twins = [({**row, "reward_model": {"ground_truth": "t"}}, text) for row, text in answers]
    assert [s["score"] for s in reward.compute_scores(**asked(twins))] == [1, 1]
    assert not reward.compute_scores([], [], [], [])

    async def one_by_one():
        return await asyncio.gather(*[
            reward.compute_score(data_source=row["data_source"], solution_str=text,
                                 ground_truth=row["reward_model"]["ground_truth"],
                                 extra_info=row["extra_info"], reward_router_address=None)
            for row, text in pairs[:4]])

    calls, judge = [], reward._judge
    reward._judge = lambda pairs: calls.append(len(pairs)) or judge(pairs)
    assert asyncio.run(one_by_one()) == scores[:4]
    assert [count for count in calls if count] == [4]  # together


def test_speed_counts_by_the_lower_end_of_its_interval(exported):
    reward = load_reward(exported[0])
    sample = {"outcome": "accepted", "rejected_at": None, "reason": "", "degenerate": False,
              "speedup_eager": {"estimate": 3.0, "lower": 2.0, "upper": 4.0}}
    found = reward._found(sample)
    assert found["speedup"] == 2 and reward.REWARDS["grpo"](found) == 1
    assert reward.REWARDS["grpo_speed"](found) == pytest.approx(1 + math.log(2))
    for other in ({"outcome": "rejected", "rejected_at": "correct"},
                  {"degenerate": True}, {"outcome": "not judged", "reason": "a worker died"}):
        found = reward._found({**sample, **other})
        assert reward.REWARDS["grpo_speed"](found) == 0
        assert found["judged"] == (other.get("outcome") == "rejected")


def test_a_machine_that_cannot_judge_is_no_reward(exported, answers, monkeypatch):
    for program, says in (("/nowhere/kernelwright", "cannot start"), ("/bin/false", "ended with 1")):
        monkeypatch.setenv("KERNELWRIGHT_BINARY", program)
        reward = load_reward(exported[0])
        with pytest.raises(reward.VerifierError, match=says):
            reward.compute_scores(**asked(answers))
        row, text = answers[0]
        with pytest.raises(reward.VerifierError, match=says):
            asyncio.run(reward.compute_score(row["data_source"], text, "t", row["extra_info"]))
    reward._judge = lambda pairs: [
        reward._found({"outcome": "not judged", "reason": "no GPU"}) for _ in pairs]
    one = reward.compute_scores(**asked(answers[:1]))  # may be the answer's own doing
    assert (one[0]["score"], one[0]["judged"]) == (0, 0)
    with pytest.raises(reward.VerifierError, match="in a row.*no GPU"):
        reward.compute_scores(**asked(answers * 4))


def test_tasks_that_are_none_are_no_reward(exported, answers):
    reward = load_reward(exported[0])
    row, text = answers[0]
    broken = {**row, "extra_info": {**row["extra_info"], "model": "no model"}}
    with pytest.raises(reward.VerifierError, match=row["reward_model"]["ground_truth"]):
        reward.compute_scores(**asked([(broken, text)]))


QUICK = ["--tasks", "4", "--set", "rl.prompts=4", "--set", "rl.prompts_per_update=2", "--set",
         "curriculum.validation=1", "--set", "data.hygiene=false"]


@pytest.mark.parametrize("path", sorted((ROOT / "recipes").glob("*.toml")), ids=lambda p: p.stem)
def test_the_projects_recipes(path, tmp_path):
    values = dict(re.findall(r"^(\w+) = (.+)$", path.read_text(), re.MULTILINE))
    if values.get("kind") != '"rl"':
        done = export(path, tmp_path / "out")
        assert done.returncode == 2 and "kind sft" in done.stderr
        return
    flags = list(QUICK)
    objective = json.loads(values["objective"])
    if objective in ("drpo", "hierarchical", "rejection"):
        done = export(path, tmp_path / "out", *flags)
        assert done.returncode == 2
        assert f"rl.objective is {objective}, which verl does not have" in done.stderr
        assert not (tmp_path / "out").exists()
        flags += ["--set", "rl.objective=grpo"]
    done = export(path, tmp_path / "out", *flags)
    assert done.returncode == 0, done.stderr
    for text in (done.stderr, (tmp_path / "out" / "README.md").read_text()):
        assert (f"in the place of the recipe's {objective}" in text) == ("rl.objective=grpo" in flags)
    found = read_yaml(tmp_path / "out" / "verl.yaml")
    for key, at in (("rate", "actor_rollout_ref.actor.optim.lr"),
                    ("answers", "actor_rollout_ref.rollout.n"),
                    ("steps", "trainer.total_training_steps"),
                    ("max_tokens", "data.max_response_length"),
                    ("longest_prompt", "data.max_prompt_length")):
        instructions = 512 if key == "longest_prompt" else 0
        assert found[at] == float(values[key]) + instructions, key


def test_what_cannot_be_exported_is_said(tmp_path):
    recipe = write_recipe(tmp_path / "mine.toml", RECIPE)
    done = run("recipe", "export", recipe, "--to", "trl", "--out", tmp_path / "out")
    assert done.returncode == 2 and "trl" in done.stderr and "verl" in done.stderr
    for out, says in ((tmp_path, "holds other files (mine.toml)"), (recipe, "is a file"),
                      (recipe / "below", "is a file, where a folder was expected")):
        done = export(recipe, out)
        assert done.returncode == 2 and says in done.stderr, done.stderr
    (tmp_path / "locked").mkdir(mode=0o500)
    if not os.access(tmp_path / "locked", os.W_OK):  # root may write anywhere
        done = export(recipe, tmp_path / "locked")
        assert done.returncode == 3 and "cannot write" in done.stderr
    for flags, says in ((["--tasks", "5"], "a batch has 6 tasks"),
                        (["--set", "rl.stepz=3"], "is rl.steps meant"),
                        (["--set", "rl.row=20"], "rl.row is 20"),
                        (["--set", "model.init=%s" % (ROOT / "tests/vectors/models/qwen3_lora")],
                         "is an adapter's folder")):
        done = export(recipe, tmp_path / "none", *flags)
        assert done.returncode == 2 and says in done.stderr, done.stderr
        assert not (tmp_path / "none").exists()
    assert export(tmp_path / "no.toml", tmp_path / "none").returncode == 2
    done = run("recipe")
    assert done.returncode == 2 and "subcommand" in done.stderr
