#!/usr/bin/env python3
"""Writes the tables of README.md and docs/ from the measured results under bench/.

    scripts/tables.py            rewrite the tables
    scripts/tables.py --check    fail when a table is not what bench/ says

A table is between `<!-- table: NAME -->` and `<!-- end -->`.
"""

import collections
import json
import math
import re
import statistics
import sys
from functools import partial
from pathlib import Path

import check_arrows

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from optimize_models import PEERS, over_best  # noqa: E402  (the folder comes first)

DOCUMENTS = ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/results.md", "docs/performance.md", "docs/timing.md",
             "docs/real-kernels.md", "docs/recording.md",
             "docs/numerics-runs.md", "docs/synthesis.md", "docs/learning.md", "docs/metrics.md",
             "docs/formats/conversations.md", "models/embedded/README.md"]


def ratio(interval):
    if not interval:
        return "-"
    return "%.2fx [%.2f, %.2f]" % (interval["estimate"], interval["lower"], interval["upper"])


def lines_of(path):
    return [json.loads(line) for line in (ROOT / path).read_text().splitlines()]


def called(path):
    """Name -> (times of calls, commit) of the results of `optimize` that have some."""
    results = json.loads((ROOT / path).read_text())["examples"]
    return {name: (result["verdict"]["calls"], result["commit"]) for name, result in sorted(results.items())
            if result["outcome"] == "improved" and result["verdict"].get("calls")}


def calls(path) -> str:
    """Wall time of calls as Python makes them, from results of `optimize`."""
    runs = json.loads((ROOT / path).read_text())
    lines = ["| model | eager | torch.compile | its reduce-overhead | optimized.py | by | over the best | latency of eager, "
             "optimized.py | commit |", "|---|---|---|---|---|---|---|---|---|"]
    rows = called(path)
    for name, (row, commit) in rows.items():
        times = row["times"]
        walls = ["%.3f ms" % (1e3 * times[key]["wall"]) if key in times else "-" for key in (*PEERS, "called")]
        gain, best = over_best(row)
        lines.append("| %s | %s | %s | %.2fx of %s | %.3f, %.3f ms | %s |" % (
            name, " | ".join(walls), "a CUDA graph" if row["called_by"] == "graph" else "launches", gain,
            PEERS[best], 1e3 * times["eager"]["latency"], 1e3 * times["called"]["latency"], commit[:7]))
    lines.append("| geometric mean | | | | | | %s | | |" % mean([over_best(row)[0] for row, _ in rows.values()]))
    kept = ["`%s`" % name for name in sorted(runs["examples"]) if name not in rows]
    environment = runs["environment"]
    lines += ["", "Wall time a call in plain PyTorch, calls one after another, medians of interleaved rounds; a latency is that of "
              "one call alone. %s, torch %s, triton %s; `%s`.%s" % (
                  environment["device"], environment["torch"], environment["triton"], runs["command"],
                  " PyTorch's own kernels stay in %s." % ", ".join(kept) if kept else "")]
    return "\n".join(lines)


def host_time() -> str:
    """The host's share of a call, from bench/h200/host_time.jsonl."""
    lines = ["| export | checks in | parameters | a call without its steps | a launch (arguments) | a call by launches | by a "
             "CUDA graph |", "|---|---|---|---|---|---|---|"]
    rows = lines_of("bench/h200/host_time.jsonl")
    for row in rows:
        own = ", %.1f us without the driver" % row["own_us"] if "own_us" in row else ""
        lines.append("| %s | %s | %d | %.1f us | %.1f us (%d)%s | %.0f us, %d launches | %.0f us |" % (
            row["export"], row["checks"], row["parameters"], row["call_us"], row["launch_us"], row["arguments"], own,
            row["launched_us"], row["launches"], row["graphed_us"]))
    commits = " and ".join(sorted({row["commit"] for row in rows}))
    lines += ["", "The least of some runs. Host of an NVIDIA H200, torch 2.11.0+cu130, triton 3.6.0, commit " + commits + ". "
              "`bench/host_time.py --gpu --json`, without and with kernelwright_host."]
    return "\n".join(lines)


def headline() -> str:
    """The examples in one line, from bench/h200/examples.json."""
    runs = json.loads((ROOT / "bench/h200/examples.json").read_text())
    verdicts = [result["verdict"] for result in runs["examples"].values() if result["outcome"] == "improved"]
    gains = [over_best(row)[0] for row, _ in called("bench/h200/examples.json").values()]
    eager, compiled = ([verdict[key]["estimate"] for verdict in verdicts if verdict[key]]
                       for key in ("speedup_eager", "speedup_compile"))
    return ("As Python calls them, optimized models are **%s as fast as the best of eager PyTorch, torch.compile and its "
            "reduce-overhead**: the geometric mean of wall times of %d of the %d examples on one %s. In device time they are "
            "%s as fast as torch.compile, and %s as fast as eager ([results](docs/results.md))." % (
                mean(gains), len(gains), len(runs["examples"]), runs["environment"]["device"], mean(compiled), mean(eager)))


def examples() -> str:
    """Eager, torch.compile and ours on one H200, from bench/h200/examples.json."""
    runs = json.loads((ROOT / "bench/h200/examples.json").read_text())
    as_called = called("bench/h200/examples.json")
    lines = [
        "| example | eager | torch.compile | Kernelwright | over eager | over torch.compile | over eager, as Python calls them |",
        "|---|---|---|---|---|---|---|",
    ]
    product, count = 1.0, 0
    for name, result in sorted(runs["examples"].items()):
        verdict = result["verdict"]
        time = next((s["evidence"] for s in verdict["stages"] if s["stage"] == "time"), {})

        def cell(key):
            return "%.3f ms" % time[key]["device_ms"] if key in time else "-"

        if result["outcome"] != "improved":
            lines.append("| %s | | | | %s | | |" % (name, result["message"].split(":")[0]))
            continue
        compiled = verdict["speedup_compile"]
        if compiled:
            product, count = product * compiled["estimate"], count + 1
        python = "%.2fx" % as_called[name][0]["times"]["called"]["over_eager"] if name in as_called else "-"
        lines.append(
            "| %s | %s | %s | %s | %s | %s | %s |"
            % (name, cell("eager"), cell("torch.compile"), cell("candidate"),
               ratio(verdict["speedup_eager"]), ratio(compiled), python)
        )
    if count:
        lines.append("| geometric mean | | | | | %.2fx | |" % product ** (1 / count))
    environment = runs["environment"]
    lines.append("")
    lines.append(
        "Device time, L2 flushed, each row one run, 95 %% intervals. %s, torch %s, triton %s; `%s`."
        % (environment["device"], environment["torch"], environment["triton"], runs["command"])
    )
    return "\n".join(lines)


def agreement() -> str:
    """The executor's times beside plain PyTorch's, from bench/h200/agreement.json."""
    runs = json.loads((ROOT / "bench/h200/agreement.json").read_text())
    lines = ["| example | eager | torch.compile | ours | ours over eager | torch.compile over eager |", "|---|---|---|---|---|---|"]
    apart = {"ours": [], "torch.compile": []}
    for row in runs["plain_python"]:
        verdict = runs["examples"][row["example"]]["verdict"]
        time = next((s["evidence"] for s in verdict["stages"] if s["stage"] == "time"), {})
        if "compile" not in row["device"] or "torch.compile" not in time:
            continue
        cells, ratios = [], []
        for name, plain in (("eager", "eager"), ("torch.compile", "compile"), ("candidate", "optimized")):
            cells.append("%.3f, %.3f ms" % (time[name]["device_ms"], row["device"][plain]["ms"]))
        for name, plain, which in (("candidate", "optimized", "ours"),
                                   ("torch.compile", "compile", "torch.compile")):
            here, there = time["eager"]["device_ms"] / time[name]["device_ms"], row["device"][plain]["ratio"]
            apart[which].append(there / here)
            ratios.append("%.2f, %.2f (%+.0f %%)" % (here, there, 100 * (there / here - 1)))
        lines.append("| %s |" % " | ".join([row["example"], *cells, *ratios]))
    if len(lines) == 2:
        return "Not measured yet."
    middle = ["%+.0f %%" % (100 * (statistics.median(apart[k]) - 1)) for k in ("ours", "torch.compile")]
    lines.append("| **median** | | | | **%s** | **%s** |" % tuple(middle))
    return "\n".join(lines)


def phases() -> str:
    """Seconds of `optimize` by phase, from bench/h200/examples.json."""
    runs = json.loads((ROOT / "bench/h200/examples.json").read_text())
    parts = {"record": ["record", "forms"], "time of steps": ["steps"], "proposals": ["plan", "write"],
              "build": ["build"], "judge": ["judge"], "time": ["time"], "confirm": ["confirm"],
              "torch.compile's package": ["torch.compile"]}
    lines = ["| example | first run | " + " | ".join(parts) + " | again | commit |",
             "|---|---|" + "---|" * (len(parts) + 2)]
    for example, result in sorted(runs["examples"].items()):
        seconds = result["phase_seconds"]
        cells = ["%.1f s" % sum(seconds.get(name, 0) for name in names) for names in parts.values()]
        again = "%.1f s" % result["warm"]["total_seconds"] if "warm" in result else "-"
        lines.append("| %s | %.1f s | %s | %s | %s |" % (
            example, result["total_seconds"], " | ".join(cells), again, result.get("commit", "-")))
    return "\n".join(lines)


def profiles() -> str:
    """What the kernels of some examples do, from bench/h200/profile.json."""
    runs = json.loads((ROOT / "bench/h200/profile.json").read_text())
    least = 0.03
    lines = ["| example | of | kernel | time | share | DRAM | L2 | SMs | registers |",
             "|---|---|---|---|---|---|---|---|---|"]
    for example, sides in runs["examples"].items():
        for side, kernels in sides.items():
            if side.endswith("failed"):
                continue
            whole = sum(k["us"] for k in kernels)
            shown = [k for k in kernels if k["us"] >= least * whole]
            for k in shown:
                name = re.sub(r"^void |<.*|\(.*", "", k["kernel"])[:60]
                lines.append("| %s | %s | `%s` | %.1f us | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %.0f |" % (
                    example, side, name, k["us"], 100 * k["us"] / whole, k["dram"], k["l2"], k["sm"],
                    k["registers"]))
            lines.append("| **%s** | %s | %d kernels | %.1f us | | | | | |" % (
                example, side, len(kernels), whole))
    environment = runs["environment"]
    lines += ["", "Nsight Compute, one call each, clocks as they are; of their peaks. Kernels under %.0f %% are "
              "left out. %s, torch %s, triton %s; `%s` at %s." % (
                  100 * least, environment["device"], environment["torch"], environment["triton"],
                  runs["command"], runs["commit"])]
    return "\n".join(lines)


def verdicts() -> str:
    """What a verdict of each example costs, from bench/*/verdicts.json."""
    lines = [
        "| example | on | Triton share | record, Model and ModelNew | compile | correct | time | whole command | largest process | device memory |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    recorded = []
    for path in sorted((ROOT / "bench").glob("*/verdicts.json")):
        runs = json.loads(path.read_text())
        on = "%s, torch %s" % (runs["environment"]["device"], runs["environment"]["torch"])
        for row in runs["verdicts"]:
            seconds = {k: "%.2f s" % v for k, v in row["seconds"].items()}
            record = row["record_ms"]
            recorded += record.values()
            lines.append(
                "| %s | %s | %.2f | %.0f ms, %.0f ms | %s | %s | %s | %.1f s | %.2f GB | %s |"
                % (row["example"], on, row["share"], record["Model"], record["ModelNew"],
                   seconds["compile"], seconds["correct"], seconds.get("time", "-"),
                   row["wall_seconds"], row["resident_bytes"] / 1e9,
                   "%.2f GB" % (row["device_peak_bytes"] / 1e9) if row["device_peak_bytes"] else "-")
            )
    recorded.sort()
    if recorded:
        lines += ["", "Record: warm, median of 19 each; median over all rows %.0f ms."
                  % recorded[len(recorded) // 2]]
    return "\n".join(lines)


def mean(values) -> str:
    """Geometric mean."""
    return "%.2fx" % math.exp(sum(map(math.log, values)) / len(values)) if values else "-"


def families() -> str:
    """Each family on five real sizes, from bench/h200/families.json."""
    path = ROOT / "bench/h200/families.json"
    if not path.exists():
        return "Not measured yet."
    runs = json.loads(path.read_text())
    lines = [
        "| family | model | eager | torch.compile | ours | over eager | over torch.compile | of the floor | schedule |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    every = {"eager": [], "compile": []}
    for group in dict.fromkeys(r["group"] for r in runs["models"]):
        ratios = {"eager": [], "compile": []}
        for row in (r for r in runs["models"] if r["group"] == group):
            best = next((s for s in row["samples"]
                         if s["in_full"] and s["outcome"] == "accepted" and s["device_ms"]), None)
            name = "%s (%s)" % (row["name"], row["sizes"])
            if not best:
                lines.append("| %s | %s | | | | %s | | | |" % (group, name, row["outcome"]))
                continue
            for key, values in ratios.items():
                if best["speedup_" + key]:
                    values.append(best["speedup_" + key]["estimate"])
            floor = max(row["floor_ms"] or 0, 1e3 * best["schedule"]["memory_seconds"])
            compiled = "%.3f ms" % row["compiled_ms"] if row["compiled_ms"] else "-"
            lines.append("| %s | %s | %.3f ms | %s | %.3f ms | %s | %s | %.0f %% | %s |" % (
                group, name, row["eager_ms"], compiled, best["device_ms"],
                ratio(best["speedup_eager"]), ratio(best["speedup_compile"]),
                100 * floor / best["device_ms"],
                "%s: %s" % (best["family"], best["schedule"]["name"])))
        for key, values in ratios.items():
            every[key] += values
        lines.append("| **%s** | geometric mean | | | | **%s** | **%s** | | |"
                     % (group, mean(ratios["eager"]), mean(ratios["compile"])))
    lines.append("| **all** | geometric mean | | | | **%s** | **%s** | | |"
                 % (mean(every["eager"]), mean(every["compile"])))
    environment = runs["environment"]
    lines += ["", "Device time, L2 flushed, all of a row timed in one run, 95 %% intervals; the fastest "
              "schedule of those tried, judged in full. Floor: each element that is needed "
              "crosses the memory bus once at the speed of a large copy and matrix products run at the "
              "tensor cores' fastest rate (half types). %s, torch %s, triton %s; `%s`." % (
                  environment["device"], environment["torch"], environment["triton"],
                  runs["command"])]
    return "\n".join(lines)


def selftest_rows(where):
    path = ROOT / "bench" / where / "selftest.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def corpora() -> str:
    """False accepts and false rejects by family, from bench/*/selftest.jsonl."""
    places = {"H200": selftest_rows("h200"), "CPU": selftest_rows("cpu")}
    places = {name: rows for name, rows in places.items() if rows}
    lines = []
    for label, wrong, right in (("program wrong", "accepted", "rejected"),
                                ("file lies", "rejected", "accepted"),
                                ("honest", "rejected", "accepted")):
        lines += ["| %s | cases | %s |" % (
            label, " | ".join("%s: %s, %s, not judged" % (name, right, wrong) for name in places)),
            "|---|---|" + "---|" * len(places)]
        every = [row for rows in places.values() for row in rows if row["label"] == label]
        families = sorted({row["family"] for row in every})
        for family in [*families, None]:
            chosen = [row for row in every if family in (None, row["family"])]
            cells = []
            for rows in places.values():
                found = [row["candidate"]["outcome"] if row["judged"] else "not judged" for row in rows
                         if row["label"] == label and family in (None, row["family"])]
                cells.append(", ".join(str(sum(outcome == wanted for outcome in found))
                                       for wanted in (right, wrong, "not judged")))
            cases = len({row["case"] for row in chosen})
            lines.append("| %s | %d | %s |" % (family or "**all**", cases, " | ".join(cells)))
        lines.append("")
    return "\n".join(lines[:-1])


def honest_rate() -> str:
    """How often right programs are rejected, from bench/*/honest_rate*.json."""
    lines = ["| honest programs | on | cases | seeds | judgements | rejected | of 1,000 | not judged |", "|---|---|---|---|---|---|---|---|"]
    reasons = []
    for name, title in (("honest_rate", "the corpora's"), ("honest_rate_people", "as people write them")):
        for place, machine in (("h200", "H200"), ("cpu", "CPU")):
            path = ROOT / "bench" / place / (name + ".json")
            if not path.exists():
                continue
            found = json.loads(path.read_text())
            outcomes = collections.Counter(found["outcomes"])
            total = sum(outcomes.values())
            lines.append("| %s | %s | %d | %d | %d | %d | %.2f | %d |" % (
                title, machine, total // found["seeds"], found["seeds"], total, outcomes["rejected"],
                1e3 * outcomes["rejected"] / total, outcomes["not judged"]))
            reasons += ["- `%s` at seed %d on the %s: %s" % (row["case"], row["seed"], machine, row["reason"])
                        for row in found["rejections"]]
    return "\n".join([*lines, *([""] if reasons else []), *reasons])


def sanitized() -> str:
    """What compute-sanitizer found in the labelled cases, from bench/h200/sanitized.json."""
    path = ROOT / "bench/h200/sanitized.json"
    if not path.exists():
        return "Not measured yet."
    runs = json.loads(path.read_text())
    lines = ["| case | program | tool | found | messages |", "|---|---|---|---|---|"]
    for found in runs["findings"]:
        lines.append("| %s | %s | %s | %s in `%s` | %d |" % (
            found["case"].removesuffix(".py").replace("_", " "),
            "the twin, right" if found["program"] == "twin" else found["label"], found["tool"], found["what"],
            found["where"], found["count"]))
    lines += ["", "%d right programs and %d wrong ones ran, the latter without the checks that catch them. %d runs did not "
              "end. A run takes %s ms in the median, %s ms in the mean, starts of processes included. `%s`, %s." % (
                  runs["runs"]["right"], runs["runs"]["wrong"], len(runs["faults"]),
                  milliseconds(runs["seconds"]["median"]), milliseconds(runs["seconds"]["mean"]), runs["command"],
                  runs["commit"])]
    return "\n".join(lines)


def throughput() -> str:
    """Verdicts a second by class of task, from bench/*/throughput.json."""
    lines = ["| candidates | on | verdicts/s | p50 | p99 | judged | a verdict's milliseconds on the "
             "executor: inputs, candidate, without launches, compare, timed runs and their check |",
             "|---|---|---|---|---|---|---|"]
    parts = (("draw", "keep"), ("candidate",), ("noop",), ("compare",),
             ("timing: inputs", "timing: runs", "timing: checks"))
    for place, name in (("h200", "H200, 16 cores"), ("cpu", "2 CPU cores")):
        path = ROOT / "bench" / place / "throughput.json"
        for row in json.loads(path.read_text())["rows"] if path.exists() else []:
            phases = row["median_phase_s"]
            lines.append("| %s | %s | %.*f | %.3f s | %.3f s | %d of %d | %s |" % (
                row["class"].replace("_", " "), name, row["verdicts_per_s"] < 20, row["verdicts_per_s"],
                row["p50_s"], row["p99_s"], row["judged"], row["verdicts"],
                ", ".join("%.1f" % (1e3 * sum(phases.get(key, 0) for key in keys)) for keys in parts)))
    return "\n".join(lines)


def milliseconds(seconds) -> str:
    return "%.0f" % (1e3 * seconds) if seconds >= 0.1 else "%.2g" % (1e3 * seconds)


def cpsat() -> str:
    """The sampler of sizes and CP-SAT on the same constraints, from bench/cpu/synth_cpsat.json."""
    path = ROOT / "bench/cpu/synth_cpsat.json"
    if not path.exists():
        return "Not measured yet."
    runs = json.loads(path.read_text())
    lines = ["| level | window | programs | sampler: sizes/s (median, p99, most in ms) | CP-SAT: sizes/s "
             "(median, p99, most in ms) | building alone: median | drawn again | solved | stated and solved | sampler over "
             "CP-SAT: rates, medians (least of all ways) | sampler with words and skeletons: programs/s |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]

    def cell(times):
        return "%.*f (%s)" % (times["per_s"] < 100, times["per_s"], ", ".join(
            milliseconds(times[key]) for key in ("median_s", "p99_s", "most_s")))

    for row in runs["rows"]:
        ours, best = row["sampler"], next(r for r in row["cpsat"] if r["way"] == row["best_way"])
        both = best["build_and_solve"]
        lines.append("| %d | %s | %d | %s | %s | %s | %s | %d of %d | %s | %.0f, %.0f | %.0f |" % (
            row["level"], "%g times" % row["window"] if row["window"] else "usual", row["programs"],
            cell(ours["sizes"]), cell(both), milliseconds(best["build"]["median_s"]),
            "%d of %d" % (ours["drawn_again"], ours["of"]), best["solved"], best["of"], row["best_way"],
            ours["sizes"]["per_s"] / both["per_s"],
            min(r["build_and_solve"]["median_s"] for r in row["cpsat"]) / ours["sizes"]["median_s"],
            ours["programs"]["per_s"]))
    # Sizes at an end of what they may be, and different answers of several seeds: each row, then together.
    def ends(found):
        shares = [100 * share for share in found if share is not None]
        return "%.0f to %.0f %%" % (min(shares), max(shares))

    seeds = [row["other_seeds"] for row in runs["rows"]]
    models = [row["models"] for row in runs["rows"]]
    environment, loads = runs["environment"], [row["load_before"] for row in runs["rows"]]
    lines += ["", "Free sizes with 64 or more possible values: the sampler draws the least or the largest for %s of them, "
              "CP-SAT for %s. %d seeds, on %d programs of each row, give %.1f different answers in the mean. "
              "%d models fixed at the sampler's draw have an answer, and %d fixed at wrong sizes none. "
              "Skeletons that the sampler gave up before these programs: %d." % (
                  ends(row["sampler"]["free_sizes_at_an_end"] for row in runs["rows"]),
                  ends(way["free_sizes_at_an_end"] for row in runs["rows"] for way in row["cpsat"]),
                  seeds[0]["seeds"], len(seeds[0]["different_answers"]),
                  statistics.mean(n for each in seeds for n in each["different_answers"]),
                  *[sum(each[key] for each in models) for key in ("drawn_taken", "wrong_refused")],
                  sum(row["sampler"]["given_up_before"] for row in runs["rows"])),
              "", "%s, %s, CPU time; other work ran on the machine (load %.1f to %.1f with this). OR-tools %s, "
              "Python %s; `%s` at %s." % (
                  environment["device"], environment["used"], min(loads), max(loads),
                  environment["ortools"], environment["python"], runs["command"], runs["commit"])]
    return "\n".join(lines)


def suites() -> str:
    """What the teacher makes of suites/ by itself, from bench/h200/suites.jsonl."""
    lines = ["| level | tasks | verified by its first proposal | by the second or third | rejected | refused | "
             "not judged | parts written one after another: median, most | no fair tasks on other inputs |",
             "|---|---|---|---|---|---|---|---|---|"]
    path = ROOT / "bench" / "h200" / "suites.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for level in dict.fromkeys(row["level"] for row in rows):
        tasks = [row for row in rows if row["level"] == level and "model" in row]
        unfair = len({line.split(":")[0] for row in rows if row["level"] == level and "check" in row
                      for line in row["check"][:-1]})
        if not tasks:
            continue
        verified = [row["proposals"] for row in tasks if row["outcome"] == "verified"]
        others = [sum(row["outcome"] == outcome for row in tasks) for outcome in ("rejected", "refused", "not judged")]
        parts = [row["parts"] for row in tasks if row["parts"]]
        lines.append("| %d | %d | %d | %d | %d | %d | %d | %d, %d | %d |" % (
            level, len(tasks), verified.count(1), len(verified) - verified.count(1), *others,
            statistics.median(parts), max(parts), unfair))
    return "\n".join(lines)


def embedded() -> str:
    """What the embedded model writes by itself, from bench/h200/embedded_eval.json."""
    made = json.loads((ROOT / "bench/h200/embedded_eval.json").read_text())
    lines = ["| model | tasks | samples of each | right | solved by one at least | rejected at: load, record, compile, "
             "coverage, correct |", "|---|---|---|---|---|---|"]
    for row in made["rows"]:
        at = row["rejected_at"]
        lines.append("| %s | %s | %d | %.0f %% | %.0f %% | %s |" % (
            row["model"], row["suite"], row["samples"], 100 * row["right"] / row["tasks"] / row["samples"],
            100 * row["solved"] / row["tasks"],
            ", ".join(str(at.get(stage, 0)) for stage in ("load", "record", "compile", "coverage", "correct"))))
    lines += ["", "%s, torch %s, triton %s. Each row's command and commit: "
              "[bench/h200/embedded_eval.json](../../bench/h200/embedded_eval.json)." % (
                  made["device"], made["torch"], made["triton"])]
    return "\n".join(lines)


def ablation() -> str:
    """Objectives of reinforcement learning from one start, from bench/*/ablation.json."""
    parts = []
    for path in sorted((ROOT / "bench").glob("*/ablation.json")):
        found = json.loads(path.read_text())
        conditions, start = found["conditions"], found["start"]
        lines = ["| objective | pass@1, by seed | mean | gained, by seed: points, 95 % | against grpo: points, by seed; mean, 95 % | tokens, millions |",
                 "|---|---|---|---|---|---|"]
        for objective, row in sorted(found["objectives"].items(), key=lambda item: item[0] != "grpo"):
            runs = sorted((run for run in found["runs"] if run["objective"] == objective), key=lambda run: run["seed"])
            against = row.get("against_grpo")
            base = {run["seed"]: run["pass"] for run in found["runs"] if run["objective"] == "grpo"}
            apart = ", ".join("%+.1f" % (100 * (run["pass"] - base[run["seed"]])) for run in runs if run["seed"] in base)
            lines.append("| `%s` | %s | %.1f %% | %s | %s | %s |" % (
                objective, ", ".join("%.1f %%" % (100 * run["pass"]) for run in runs), 100 * row["mean"],
                "; ".join("%+.1f [%+.1f, %+.1f]" % tuple(100 * x for x in (run["difference"], *run["interval"])) for run in runs),
                "%s; %+.1f [%+.1f, %+.1f]" % (apart, *(100 * x for x in (against["difference"], *against["interval"])))
                if against else "-",
                ", ".join("%.2f" % (run["tokens"] / 1e6) for run in runs)))
        steps, answers = found["runs"][0]["steps"], found["runs"][0]["answers"]
        lines += ["", "`%s`: from pass@1 %.1f %% on %d held-out tasks, %d steps and %d answers a run (recipes/%s-rl.toml, on %s)." % (
            path.relative_to(ROOT), 100 * start["pass"], start["tasks"], steps, answers, conditions["recipe"],
            {"cpu": "a CPU", "cuda": "GPUs"}[conditions["device"]])]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) or "Not measured yet."


POLICIES = {"sft": "embedded, by SFT", "rl": "embedded, with its RL adapter", "teacher": "teacher"}


def policies() -> str:
    """What policies make of the project's suites at full size, from bench/*/policies.json and unseen.json."""
    lines = ["| suite | policy | pass@1 | pass@10 | faster than eager: first answer, best | speedup over eager of right ones | "
             "hybrids | seconds of a GPU |", "|---|---|---|---|---|---|---|---|"]

    def share(number):
        return "%.0f %%" % (100 * number["value"]) if number else "-"

    def bounds(number, form, scale=1):
        return form % tuple(scale * number[key] for key in ("value", "lower", "upper")) if number else "-"

    def short(device):  # "NVIDIA H100 80GB HBM3"
        return device.removeprefix("NVIDIA ").split(" 80GB")[0]

    paths = [path for name in ("policies", "unseen") for path in sorted((ROOT / "bench").glob("*/%s.json" % name))]
    rows = [(path.stem == "unseen", row) for path in paths for row in json.loads(path.read_text())["rows"]]
    for unseen, row in sorted(rows, key=lambda item: (item[0], item[1]["level"], item[1]["search"],
                                                      (*POLICIES, item[1]["policy"]).index(item[1]["policy"]))):
        summary = row["summary"]
        passed, eager = summary["pass_at"] or {}, summary["eager"]
        fast = [eager[which].get("1") for which in ("fast_p_first", "fast_p_best")]
        hybrids = "-" if row["search"] else "%d of %d" % (summary["reasons"].get("coverage", 0), summary["compiled"])
        lines.append("| %s, %d tasks%s | %s | %s | %s | %s, %s | %s | %s | %.0f, %s |" % (
            "level %d%s" % (row["level"], ", pairs never trained on" if unseen else ""), summary["tasks"], ", search" if row["search"] else "", POLICIES.get(row["policy"], row["policy"]),
            bounds(passed.get("1"), "%.1f %% [%.1f, %.1f]", 100), share(passed.get("10")), *map(share, fast),
            bounds(eager["geometric_mean_right"], "%.2fx [%.2f, %.2f]"), hybrids, row["gpu_seconds"], " and ".join(map(short, row["devices"]))))
    lines += ["", "Ten answers a task, of the teacher one, and with a search one program; 95 % intervals over tasks. A right answer is faster where the lower end of its "
              "speedup's interval is more than 1; speedups are geometric means over tasks with a right answer, of the best: chosen by the times that are reported, so that of ten it is "
              "a little flattered, and of the first answer it is not. Hybrids: "
              "answers that leave PyTorch something to compute, of those that could be compiled; they count as wrong; a search has none. Seconds are of one GPU with 16 cores (of all together where several shared it), for all policies of a level."]
    return "\n".join(lines)


# By suite, per cent without and with a search: DRTriton, 7 billion parameters (arXiv:2603.21465).
DRTRITON = {1: (87, 87), 2: (75, 96), 5: (15, 99), 20: (0, 99)}


def published() -> str:
    """DRTriton's own suites beside this project's, from bench/*/policies.json."""
    shares = {}
    for path in sorted((ROOT / "bench").glob("*/policies.json")):
        for row in json.loads(path.read_text())["rows"]:
            number = row["summary"]["solved"] if row["search"] else row["summary"]["pass_at"]["1"]
            shares[row["policy"], row["search"], row["level"]] = "%.0f" % (100 * number["value"])
    lines = ["| operators | %s |" % " | ".join(map(str, DRTRITON)), "|---|%s" % ("---|" * len(DRTRITON))]
    for search, how in enumerate(("alone", "with a search")):
        lines.append("| DRTriton, 7 billion parameters, %s | %s |" % (how, " | ".join("%d %%" % of[search] for of in DRTRITON.values())))
        for policy, name in POLICIES.items():
            cells = [shares.get((policy, bool(search), level)) for level in DRTRITON]
            lines.append("| %s, %s | %s |" % (name, how, " | ".join(cell + " %" if cell else "" for cell in cells)))
    return "\n".join(lines)


def intervals() -> str:
    """What intervals of speedups are worth, from bench/h200/intervals.json."""
    path = ROOT / "bench/h200/intervals.json"
    if not path.exists():
        return "Not measured yet."
    found = json.loads(path.read_text())
    lines = ["| task | pooled median | medians of the runs, off by | intervals that contain it |",
             "|---|---|---|---|"]
    for row in found["tasks"]:
        pooled = row["pooled_median"]
        lines.append("| %s | %.4f | %s %% | %d of %d |" % (
            row["task"].replace("_", " "), pooled,
            ", ".join("%+.2f" % (100 * (m / pooled - 1)) for m in row["medians"]),
            row["contain"], len(row["intervals"])))
    lines += ["| **all** | | | **%d of %d** |" % (found["contain"], found["of"]), "",
              "| rounds | median width of an interval |", "|---|---|"]
    lines += ["| %d | %.2f %% |" % (row["rounds"], 100 * row["median_width"]) for row in found["by_rounds"]]
    return "\n".join(lines)


def grid(part: str, across: str, *names: str) -> str:
    """A part of bench/*/numerics.json: `across` varies along a row, `names` from row to row."""
    lines = []
    for path in sorted((ROOT / "bench").glob("*/numerics.json")):
        runs = json.loads(path.read_text())
        rows = {}
        if part not in runs:
            continue  # measured before there was one
        for run in runs[part]:
            rows.setdefault(tuple(run[n] for n in names), {})[run[across]] = run
        columns = list(dict.fromkeys(run[across] for run in runs[part]))
        lines += ["| %s | %s |" % (" | ".join(names), " | ".join("%s %g" % (across, c) for c in columns)),
                  "|---" * (len(names) + len(columns)) + "|"]
        for name, cells in rows.items():
            lines.append("| %s | %s |" % (" | ".join(name), " | ".join(
                "%.1e, %.1e" % (cells[c]["rms"], cells[c]["worst"]) if c in cells else "" for c in columns)))
        environment = runs["environment"]
        lines += ["", "%s, torch %s; `%s`." % (environment["device"], environment["torch"], runs["command"]),
                  ""]
    return "\n".join(lines[:-1])


def collected() -> str:
    """Rows of each route, from bench/h200/collect.json."""
    found = json.loads((ROOT / "bench/h200/collect.json").read_text())
    routes = found["routes"]
    reasons = sorted({reason for route in routes.values() for reason in route["dropped"]})
    lines = ["| | %s |" % " | ".join(routes), "|---" * (1 + len(routes)) + "|"]
    for what, count in [("tasks", "models"), ("answers", "answers"), ("**rows**", "kept")]:
        lines.append("| %s | %s |" % (what, " | ".join("%d" % route[count] for route in routes.values())))
    for reason in reasons:
        lines.append("| %s | %s |" % (reason, " | ".join("%d" % route["dropped"].get(reason, 0) for route in routes.values())))
    lines += ["", "%d %s, %d s of them all to write and judge, %d s to collect; `%s`." % (
        found["gpus"], found["device"], found["judge_seconds"], found["collect_seconds"], found["command"])]
    return "\n".join(lines)


def reports() -> str:
    """Right, faster than eager, and how much, of each run and level, from bench/*/reports/reports.json."""
    hosts = [json.loads(path.read_text()) for path in sorted(ROOT.glob("bench/*/reports/reports.json"))]
    names = {("alone", "local"): "embedded model", ("alone", "teacher"): "teacher",
             ("search-embedded", "local"): "embedded model, search", ("search-teacher", "teacher"): "teacher, search"}
    columns = [(name, policy) for host in hosts for (run, label), name in names.items() if run in host["runs"]
               for policy in host["runs"][run]["policies"] if policy["label"] == label]
    devices = [host["device"].split()[1] for host in hosts for run, _ in names if run in host["runs"]]
    lines = ["| | %s |" % " | ".join("%s, %s" % (name, device) for (name, _), device in zip(columns, devices)),
             "|---" * (1 + len(columns)) + "|"]
    for level in sorted(columns[0][1]["levels"], key=lambda name: int(name.removeprefix("level"))):
        cells = []
        for _, policy in columns:
            summary = policy["levels"][level]
            right = summary["pass_at"]["1"]
            speed = summary["eager"] and summary["eager"]["geometric_mean_right"]
            fast = summary["eager"] and summary["eager"]["fast_p_best"]["1"]
            cells.append("%.0f %% of %d%s" % (100 * right["value"], right["tasks"], "; %.0f %%, %.2fx" % (
                100 * fast["value"], speed["value"]) if speed else ""))
        lines.append("| level %s | %s |" % (level.removeprefix("level"), " | ".join(cells)))
    lines += ["", "A cell has pass@1 and the number of tasks; then the share of tasks whose best answer is faster than eager, and the geometric mean of "
              "speedups over right answers. Coverage is `pure`. Alone, the model gives four answers to a task and the teacher one. A search has 60 s, and eight share a GPU. "
              "Missing are tasks that could not be judged or that no time was left for. `bench/reports.py`, %s." % (
                  ", ".join("%d %s at %s" % (host["gpus"], host["device"], host["commit"]) for host in hosts))]
    return "\n".join(lines)


def data_of(path: str) -> dict:
    return json.loads((ROOT / "bench" / path).read_text())


def link(path: str) -> str:
    """A link to a file of bench/ from a page of docs/."""
    return "[%s](../bench/%s)" % (path, path)


def checks() -> str:
    """How many cases of each large check came out right, from their files under bench/."""
    def verified(path):
        operators = data_of(path)["operators"]
        return "%d of %d operators written and verified, %d in all cases; %d of %d cases" % (
            sum(row["verified"] > 0 for row in operators), len(operators),
            sum(row["verified"] == row["cases"] for row in operators),
            sum(row["verified"] for row in operators), sum(row["cases"] for row in operators))

    parity = data_of("h200/parity.json")
    outcomes = parity["outcomes"]
    mutants = [mutant for model in data_of("mutants.json")["models"] for mutant in model["mutants"]]
    killed = sum(mutant["outcome"] == "rejected" for mutant in mutants)
    cells, pairs = data_of("h100/pairs_cells.json"), data_of("h100/pairs_random.json")
    wrong = data_of("h100/predicates.json")
    apart = [row["difference_rms"] for row in data_of("h200/agreement.json")["plain_python"]]
    rows = [
        ("operators replayed by the executor, against eager PyTorch",
         "%d cases of %d operators: %d equal, %d within %.0f units in the last place, %d explained, %d refused by both, %d different" % (
             parity["cases"], len(parity["operators"]), outcomes["equal"], outcomes["close"], math.ceil(parity["largest_difference_ulps"]),
             outcomes["explained"], outcomes["refused"], len(parity["differences"])), "bench/gpu.sh parity", "h200/parity.json"),
        ("the teacher, CSP-DAG's operators", verified("h200/teacher_coverage.json"), "bench/gpu.sh teacher", "h200/teacher_coverage.json"),
        ("the teacher, all operators of the corpus", verified("h200/teacher_all.json"), "ALL=1 CASES=10 bench/gpu.sh teacher", "h200/teacher_all.json"),
        ("mutants of written kernels ([each survivor's argument](../bench/mutants.md))", "%d of %d rejected, %d accepted (%.1f %%)" % (
            killed, len(mutants), len(mutants) - killed, 100 * (1 - killed / len(mutants))), "bench/mutants.sh", "mutants.json"),
        ("pairs for learning, one of each operator and kind of schedule", "%d of %d right" % (cells["right"], cells["cells"]),
         cells["command"], "h100/pairs_cells.json"),
        ("pairs for learning, at random", "%d of %d right (%.1f %%); %d more are of unfair programs" % (
            pairs["right"], pairs["right"] + pairs["wrong"], 100 * pairs["right"] / (pairs["right"] + pairs["wrong"]), pairs["unfair"]),
         pairs["command"], "h100/pairs_random.json"),
        ("`optimized.py` of the examples against eager PyTorch, in plain Python",
         "relative RMS difference at most %.1e, median %.1e, over %d examples" % (max(apart), statistics.median(apart), len(apart)),
         data_of("h200/agreement.json")["command"], "h200/agreement.json"),
        ("transposed convolutions that Triton's compiler gets wrong, by how a kernel asks which taps reach a position",
         "of %d: %s" % (wrong["convolutions"], ", ".join("%s %d" % item for item in wrong["wrong"].items())),
         wrong["command"], "h100/predicates.json"),
    ]
    return "\n".join(["| what | result | command | data |", "|---|---|---|---|",
                      *("| %s | %s | `%s` | %s |" % (*row[:3], link(row[3])) for row in rows)])


def training() -> str:
    """Tokens a second beside plain PyTorch, from bench/*/learning.json."""
    lines = ["| on | what | kernelwright | share of bf16 peak | of PyTorch | of torch.compile |", "|---|---|---|---|---|---|"]
    for path in sorted((ROOT / "bench").glob("*/learning.json")):
        found = json.loads(path.read_text())
        on = found["device"].split(" 80GB")[0].removeprefix("NVIDIA ")
        for length in dict.fromkeys(row["length"] for row in found["learning"]):
            rows = {row["who"]: row for row in found["learning"] if row["length"] == length}
            ours = rows["kernelwright"]
            lines.append("| %s | learning, texts of %d | %s tokens/s | %.0f %% | %.2fx | %.2fx |" % (
                on, length, format(round(ours["tokens_per_second"], -3), ",.0f"), 100 * ours["share_of_peak"],
                *(ours["tokens_per_second"] / rows[who]["tokens_per_second"] for who in ("PyTorch", "torch.compile"))))
        rows = {row["who"]: row["tokens_per_second"] for row in found["writing"]}
        lines.append("| %s | writing, 128 answers of 512 | %s tokens/s | | %.0fx of `generate`, %.0fx with a static cache | |" % (
            on, format(round(rows["kernelwright"], -3), ",.0f"),
            *(rows["kernelwright"] / rows[who] for who in ("generate", "generate, static cache"))))
        version = "torch %s, transformers %s; `%s`" % (found["torch"], found["transformers"], found["command"])
    lines += ["", "The embedded model's shape, against transformers' Qwen3 in plain PyTorch; %s." % version]
    return "\n".join(lines)


def figures(topic: str) -> str:
    """Single values that no other file has, and values of files without a table, from bench/results.json."""
    lines = ["| what | value | command | machine | commit |", "|---|---|---|---|---|"]
    for row in data_of("results.json"):
        if row["topic"] == topic:
            data = " (%s)" % link(row["data"].removeprefix("bench/")) if "data" in row else ""
            lines.append("| %s | %s%s | `%s` | %s | %s |" % (
                row["name"], row["value"], data, row["command"], row["machine"], row["commit"]))
    return "\n".join(lines)


TOPICS = dict.fromkeys(row["topic"] for row in data_of("results.json"))
def real_kernel_rows():
    return [json.loads(line) for line in (ROOT / "bench/cpu/real_kernels.jsonl").read_text().splitlines()]


def real_kernels() -> str:
    """Kernels of public libraries by library, from bench/cpu/real_kernels.jsonl."""
    lines = ["| library | version | kernels | accepted | rejected |", "|---|---|---|---|---|"]
    rows = real_kernel_rows()
    for library in [*sorted({row["library"] for row in rows}), None]:
        found = [row for row in rows if library in (row["library"], None)]
        accepted = sum(row["outcome"] == "accepted" for row in found)
        name, version = (library.replace("_", "-"), found[0]["version"]) if library else ("all", "")
        lines.append("| %s | %s | %d | %d | %d |"
                     % (name, version, len(found), accepted, len(found) - accepted))
    return "\n".join(lines)


def real_kernels_rejected() -> str:
    """Which of them are rejected, and why that is right."""
    lines = ["| kernel | stage | verdict | why it is right |", "|---|---|---|---|"]
    for row in real_kernel_rows():
        if row["outcome"] != "accepted":
            lines.append("| %s: `%s` | %s | %s | %s |" % (
                row["library"].replace("_", "-"), row["calls"][0], row["stage"],
                row["reason"].replace("|", "\\|"), " ".join(row["why"].split())))
    return "\n".join(lines)


def library_models() -> str:
    """How many models of libraries record, by machine, from bench/*/library_models.jsonl."""
    names = ("transformers", "timm", "torchvision", "diffusers")
    lines = ["| machine | %s | all |" % " | ".join(names), "|---" * (len(names) + 2) + "|"]
    for machine, folder in (("CPU", "cpu"), ("H200", "h200")):
        path = "bench/%s/library_models.jsonl" % folder
        rows = [json.loads(line) for line in (ROOT / path).read_text().splitlines()]

        def recorded(found):
            return "%d of %d" % (sum("steps" in row for row in found), len(found)) if found else "not installed"

        counts = [recorded([row for row in rows if row["library"] == name]) for name in names]
        lines.append("| %s, torch %s ([results](../%s)) | %s | %s |" % (
            machine, rows[0]["torch"].partition("+")[0], path, " | ".join(counts), recorded(rows)))
    return "\n".join(lines)


TABLES = {"folders": check_arrows.folders, "corpora": corpora, "honest_rate": honest_rate, "sanitized": sanitized, "throughput": throughput, "intervals": intervals, "cpsat": cpsat,
          "library_models": library_models, "real_kernels": real_kernels, "real_kernels_rejected": real_kernels_rejected,
          "examples": examples, "agreement": agreement, "phases": phases, "profiles": profiles,
          "verdicts": verdicts, "families": families,
          "products": lambda: grid("products", "length", "how"),
          "of_one_sign": lambda: grid("of_one_sign", "length", "how"),
          "sums": lambda: grid("sums", "length", "operands", "how"),
          "suites": suites, "embedded": embedded, "policies": policies, "published": published, "ablation": ablation,
          "collected": collected, "reports": reports, "headline": headline, "calls": partial(calls, "bench/h200/examples.json"),
          "calls_of_families": partial(calls, "bench/h200/largest.json"), "host_time": host_time,
          "checks": checks, "training": training,
          **{"figures_" + topic.replace(" ", "_"): partial(figures, topic) for topic in TOPICS},
          "norms": lambda: grid("norms", "deviation", "how"),
          "tails": lambda: grid("tails", "magnitude", "what", "how")}


def rewrite(text: str) -> str:
    def fill(match):
        return "%s\n%s\n%s" % (match[1], TABLES[match[2]](), match[3])

    return re.sub(r"(<!-- table: (\w+) -->).*?(<!-- end -->)", fill, text, flags=re.S)


def main() -> int:
    stale = []
    for name in DOCUMENTS:
        path = ROOT / name
        if not path.exists():
            continue
        old = path.read_text()
        new = rewrite(old)
        if new != old:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(new)
    if "--check" in sys.argv and stale:
        print("tables out of date: %s (run scripts/tables.py)" % ", ".join(stale))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
