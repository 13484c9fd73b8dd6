"""Rewards for verl: answers are judged by `kernelwright eval`, as any stranger's candidate is.

verl calls compute_score once for each answer. Answers that come while others are judged wait, and
are judged together. compute_scores takes a whole batch, as verl's older batch reward manager wants.

reward.json beside this file has the recipe's objective, the flags of `eval`, the program, and what
to add to its environment. A machine that cannot judge is an exception, never a reward.
"""

import asyncio
import json
import math
import os
import pathlib
import subprocess
import tempfile

OPTIONS = json.loads((pathlib.Path(__file__).parent / "reward.json").read_text())
GATHER_SECONDS = 0.5
MOST_FAULTS = 8  # in a row
PROGRAM = os.environ.get("KERNELWRIGHT_BINARY") or OPTIONS["program"]
# Those that an answer may fail at before its kernels are compiled and do all the work.
EARLY_STAGES = {"load", "record", "compile", "coverage"}


class VerifierError(RuntimeError):
    """The machine is at fault, or the tasks are: it says nothing of the answers."""


def _correct(found):
    return found["acc"]


def _log_speed(found):
    return 1 + math.log(found["speedup"]) if found["speedup"] > 0 else 0


REWARDS = {"grpo": _correct, "rloo": _correct, "grpo_speed": _log_speed}
REWARD = REWARDS[OPTIONS["objective"]]


def compute_scores(data_sources, solution_strs, ground_truths, extra_infos, **_):
    """What each answer is worth, in order; solution_strs[i] answers the task of extra_infos[i]."""
    asked = list(zip(ground_truths, [info["model"] for info in extra_infos], solution_strs))
    found = _judge(asked)
    # A worker that died, a kernel that took the GPU with it: once more, without the others.
    again = [i for i, each in enumerate(found) if each["fault"]]
    for i, each in zip(again, _judge([asked[i] for i in again])):
        found[i] = each
    for each in found:
        _count_fault(each.pop("fault"))
    return [{"score": float(REWARD(each)), **each} for each in found]


async def compute_score(data_source, solution_str, ground_truth, extra_info, **_):
    """What one answer is worth."""
    return await _gathered.ask((data_source, solution_str, ground_truth, extra_info))


class _Gathered:
    """Answers that wait to be judged together, of one event loop."""

    def __init__(self):
        self.waiting, self.running = [], None

    async def ask(self, item):
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self.waiting.append((item, future))
        if self.running is None or self.running.get_loop() is not loop or self.running.done():
            self.running = loop.create_task(self.work())
        return await future

    async def work(self):
        while self.waiting:
            await asyncio.sleep(GATHER_SECONDS)
            taken, self.waiting = self.waiting, []
            try:
                scores = await asyncio.to_thread(
                    compute_scores, *map(list, zip(*(item for item, _ in taken))))
            except Exception as error:  # pylint: disable=broad-except; the caller gets it
                scores = [error] * len(taken)
            for (_, future), score in zip(taken, scores):
                if future.cancelled():
                    continue
                if isinstance(score, Exception):
                    future.set_exception(score)
                else:
                    future.set_result(score)


_gathered = _Gathered()


def _judge(asked):
    """What is found of each (task, model, answer); answers to one task are its samples."""
    if not asked:
        return []
    samples = {}  # of a task: numbers of its answers; two tasks may have one name
    for i, (task, model, _) in enumerate(asked):
        samples.setdefault((task, model), []).append(i)
    names = {task: f"task{n}" for n, task in enumerate(samples)}
    with tempfile.TemporaryDirectory(prefix="kernelwright-reward-") as folder:
        tasks, answers = pathlib.Path(folder, "tasks.jsonl"), pathlib.Path(folder, "answers.jsonl")
        _write(tasks, [{"id": names[task], "model": task[1]} for task in samples])
        _write(answers, [{"task": names[task], "sample": k, "answer": _text(asked[i][2])}
                         for task, own in samples.items() for k, i in enumerate(own)])
        rows = _eval(["eval", tasks, "--policy", "replay", "--answers", answers, "--samples",
                      max(map(len, samples.values())), "--json", *OPTIONS["eval"]])
    found = [None] * len(asked)
    for task, own in samples.items():
        row = rows.get(names[task] + ".py")
        if row is None or row["outcome"] in ("refused", "unusable"):
            raise VerifierError(f"{task[0]}: {row['reason'] if row else 'eval says nothing of it'}")
        judged = row["samples"]
        if len(judged) != len(own):  # the task could not be recorded
            fault = row.get("reason") or "its answers were not looked at"
            judged = [{"outcome": "not judged", "reason": fault}] * len(own)
        for i, sample in zip(own, judged):
            found[i] = _found(sample)
    return found


def _found(sample):
    """Numbers of one sample, which verl logs, the hash of the Program that was accepted, or "", and why the machine could
    not judge it, or ""."""
    degenerate = bool(sample.get("degenerate"))
    judged = sample["outcome"] != "not judged" and not degenerate
    right = judged and sample["outcome"] == "accepted"
    interval = sample.get("speedup_eager")
    return {
        "acc": float(right),
        "valid": float(right or (judged and sample["rejected_at"] not in EARLY_STAGES)),
        # The lower end of its interval; where nothing is timed a right answer is as fast as eager.
        "speedup": float(interval["lower"] if interval else 1) if right else 0.0,
        "judged": float(judged),
        "program": sample.get("program") or "" if right else "",
        "fault": "" if judged or degenerate else sample.get("reason") or "not judged",
    }


_faults = []  # of the last answers, one after the other


def _count_fault(fault):
    """One answer may be what the machine fails at, and is then worth 0; many in a row are not."""
    _faults.append(fault)
    if not fault:
        _faults.clear()
    if len(_faults) >= MOST_FAULTS:
        raise VerifierError(f"{len(_faults)} answers in a row could not be judged: {fault}")


def _eval(arguments):
    """The rows of `kernelwright eval --json`, by model."""
    try:
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              env={**os.environ, **OPTIONS["environment"]}, check=False)
    except OSError as error:
        raise VerifierError(f"cannot start {PROGRAM}: {error}") from error
    if done.returncode != 0:
        raise VerifierError(f"{PROGRAM} eval ended with {done.returncode}: {done.stderr[-2000:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["model"]: row for row in rows if "model" in row}


def _text(answer):
    """The answer as UTF-8 has it: half a character, as sampled tokens may end in, is none."""
    return answer.encode("utf-8", "replace").decode("utf-8")


def _write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
