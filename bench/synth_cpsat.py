#!/usr/bin/env python3
"""The sampler of sizes beside CP-SAT of Google OR-tools: the same constraints, one core each.

    python3 -m venv FOLDER && FOLDER/bin/pip install ortools      # no part of the project's set-up
    FOLDER/bin/python bench/synth_cpsat.py build/synth_problems --out bench/cpu/synth_cpsat.json
        [--levels 1:300,2:300] [--windows 2:60] [--limit 20]

`synth_problems` draws programs as `kernelwright synth` does and says what the sizes of each had to
satisfy; CP-SAT is to find sizes that do. It is favoured: it gets a skeleton that has sizes (the sampler
rejects those that have none), compiled to its free sizes, with ranges already narrowed and the lower
end of the window known, and any answer will do, where the sampler draws uniformly from all. The time of
an answer is that of building the model from Python, which is also told apart, and of solving it; of
several ways to state and solve, the table shows the one that gives most answers a second on its row.
The other way round, the programs are those that the sampler drew: skeletons that it gave up without
proof are counted and not given to CP-SAT.
Times are CPU time, so that others on the machine count less; both run on the same core. CP-SAT gives
up after --limit seconds; that time counts.

`--windows`: at level 5, windows [2^34, 2^34 times so much], for the programs that can reach four times
their lower end (for others the window is wider).

Every answer of CP-SAT is checked in plain integers (size_problem.py); so is every draw of the sampler.
And the model is checked: of the first programs of each row, fixed at what the sampler drew it has to
have an answer, fixed at sizes that break something it must have none.
"""

import argparse
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import time

import ortools
from ortools.sat.python import cp_model

import size_problem
from size_problem import whole

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEVELS = "1:300,2:300,3:100,5:200,8:60,12:60,20:100"
WINDOWS = "2:60,1.25:60,1.05:60"
LOW_FLOPS = 2 ** 34
CHECKED_MODELS = 50  # of each row
SEEDS = 10  # of each of as many programs, to see whether answers differ
ANSWERS = (cp_model.OPTIMAL, cp_model.FEASIBLE)

# Name -> (products of more than two sizes as one constraint, parameters).
WAYS = {
    "defaults": (False, {}),
    "defaults, whole products": (True, {}),
    "no LP, no probing": (False, {"linearization_level": 0, "cp_model_probing_level": 0,
                                  "symmetry_level": 0}),
    "no LP, no presolve": (False, {"linearization_level": 0, "cp_model_presolve": False}),
}


class Model:
    """The CP-SAT model of a problem; `free`: variables of its free sizes."""

    def __init__(self, problem, whole_products=False):
        self.model = cp_model.CpModel()
        self.whole_products = whole_products
        self.low, self.high = (math.ceil(problem["window"][0]), math.floor(problem["window"][1]))
        self.least = size_problem.fill(problem, [low for low, _, _ in problem["free"]])
        self.most = size_problem.fill(problem, [high for _, high, _ in problem["free"]])
        for slot, low, high in problem["checks"]:
            self.least[slot] = max(self.least[slot], low)
            self.most[slot] = min(self.most[slot], high)
        self.free = [
            self.model.new_int_var_from_domain(cp_model.Domain.from_values(values), "")
            if values else self.model.new_int_var(low, high, "")
            for low, high, values in problem["free"]]
        self.slots = list(self.free)
        for made in problem["code"]:
            self.add_slot(made)
        caps = self.caps(problem)
        self.caps_of_products = self.caps_of_parts(problem, caps)
        self.products = {}
        self.add_products(problem, caps)

    def add_slot(self, made):
        at = len(self.slots)
        slot = self.model.new_int_var(self.least[at], self.most[at], "")
        kind, a, b = made["kind"], made["a"], made["b"]
        if kind == "affine":
            value = made["mul"] * self.divided(a, made["add"], made["div"]) + made["plus"]
        elif kind == "sum":
            value = self.slots[a] + self.slots[b]
        elif kind == "split":
            value = made["mul"] * self.slots[a] + made["plus"] + self.slots[b]
        else:
            value = made["plus"]
        self.model.add(slot == value)
        self.slots.append(slot)

    def divided(self, a, add, div):
        """floor((slot a + add) / div). CP-SAT rounds to zero: numerators are shifted above it."""
        if div == 1:
            return self.slots[a] + add
        least, most = (self.least[a] + add) // div, (self.most[a] + add) // div
        shift = max(0, -least)
        quotient = self.model.new_int_var(least + shift, most + shift, "")
        self.model.add_division_equality(quotient, self.slots[a] + add + shift * div, div)
        return quotient - shift

    def caps(self, problem):
        """Of each monomial, the most that elements and FLOPs leave it."""
        caps = []
        for monomial in problem["monomials"]:
            limits = [(whole(monomial["largest"]), problem["limits"]["tensor"]),
                      (whole(monomial["total"]), problem["limits"]["total"])]
            caps.append(min((whole(limit) // factor for factor, limit in limits if factor),
                            default=self.high))
        for term in problem["terms"]:
            for monomial, factor in filter(None, (term["a"], term["b"])):
                caps[monomial] = min(caps[monomial],
                                     self.high // (whole(term["coefficient"]) * whole(factor)))
        return caps

    def caps_of_parts(self, problem, caps):
        """The same of each product that monomials begin with."""
        found = {}
        for monomial, cap in zip(problem["monomials"], caps):
            part = tuple(monomial["slots"])
            while len(part) > 1:
                found[part] = min(found.get(part, cap), cap)
                cap //= max(1, self.least[part[-1]])
                part = part[:-1]
        return found

    def product(self, part):
        """Its variable, with bounds: products of sizes alone would pass 64 bits."""
        if len(part) == 1:
            return self.slots[part[0]]
        if part not in self.products:
            most = math.prod(self.most[slot] for slot in part)
            made = self.model.new_int_var(math.prod(self.least[slot] for slot in part),
                                          min(self.caps_of_products[part], most), "")
            factors = ([self.slots[slot] for slot in part]
                       if self.whole_products and most < 2 ** 62
                       else [self.product(part[:-1]), self.slots[part[-1]]])
            self.model.add_multiplication_equality(made, factors)
            self.products[part] = made
        return self.products[part]

    def add_products(self, problem, caps):
        values = []
        for monomial, cap in zip(problem["monomials"], caps):
            slots = tuple(monomial["slots"])
            values.append(self.product(slots) if slots else 1)
            if len(slots) == 1 and self.most[slots[0]] > cap:
                self.model.add(values[-1] <= cap)
        elements = sum(whole(monomial["total"]) * value
                       for monomial, value in zip(problem["monomials"], values))
        self.model.add_linear_constraint(elements, 0, whole(problem["limits"]["total"]))
        flops = []
        for term in problem["terms"]:
            sides = [whole(term["coefficient"]) * whole(factor) * values[monomial]
                     for monomial, factor in filter(None, (term["a"], term["b"]))]
            if len(sides) > 1:
                larger = self.model.new_int_var(0, self.high, "")
                self.model.add_max_equality(larger, sides)
                sides = [larger]
            flops += sides
        if flops:
            self.model.add_linear_constraint(sum(flops), self.low, self.high)


def solve(model, parameters, seed, limit):
    """(the free sizes or nothing, status, seconds)"""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_time_in_seconds = limit
    for name, value in parameters.items():
        setattr(solver.parameters, name, value)
    begin = time.process_time()
    status = solver.solve(model.model)
    seconds = time.process_time() - begin
    answer = [solver.value(free) for free in model.free] if status in ANSWERS else None
    return answer, solver.status_name(status), seconds


def times(seconds, answers=None):
    """`answers` of these took as long together."""
    ordered = sorted(seconds)
    return {"per_s": (len(seconds) if answers is None else answers) / sum(seconds),
            "median_s": statistics.median(ordered), "p99_s": ordered[len(ordered) * 99 // 100],
            "most_s": ordered[-1]}


def at_an_end(problems, answers):
    """The share of free sizes of 64 values or more that are the least or the most of them."""
    ends = [value in (low, high) for problem, answer in zip(problems, answers) if answer
            for value, (low, high, values) in zip(answer, problem["free"])
            if not values and high - low >= 63]
    return sum(ends) / len(ends) if ends else None


def by_cpsat(problems, way, limit):
    whole_products, parameters = WAYS[way]
    building, solving, outcomes, answers = [], [], {}, []
    for problem in problems:
        begin = time.process_time()
        model = Model(problem, whole_products)
        building.append(time.process_time() - begin)
        answer, outcome, seconds = solve(model, parameters, problem["index"], limit)
        solving.append(seconds)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        answers.append(answer)
        # Each has an answer, the sampler's.
        if outcome in ("INFEASIBLE", "MODEL_INVALID"):
            raise SystemExit("program %d: %s %s" % (problem["index"], outcome, model.model.validate()))
        if answer and size_problem.broken(problem, answer):
            raise SystemExit("program %d: CP-SAT's answer breaks %s" % (
                problem["index"], size_problem.broken(problem, answer)))
    solved = sum(answer is not None for answer in answers)
    return {"way": way, "solved": solved, "of": len(problems), "outcomes": outcomes,
            "build_and_solve": times([b + s for b, s in zip(building, solving)], solved),
            "solve": times(solving, solved), "build": times(building),
            "free_sizes_at_an_end": at_an_end(problems, answers)}


def by_sampler(problems):
    for problem in problems:
        if size_problem.broken(problem, problem["drawn"]):
            raise SystemExit("program %d: the draw breaks %s" % (
                problem["index"], size_problem.broken(problem, problem["drawn"])))
    seconds = [problem["seconds"] for problem in problems]
    again = sum(each["drawn_again"] for each in seconds)
    return {"programs": times([each["program"] for each in seconds]),
            "sizes": times([each["prepare"] + each["draw"] for each in seconds], again),
            "next_draw": times([each["draw"] for each in seconds], again),
            "drawn_again": again, "of": len(problems),
            "given_up_before": sum(problem["given_up"] for problem in problems),
            "free_sizes_at_an_end": at_an_end(problems, [p["drawn"] for p in problems])}


def wrong(problem):
    """Sizes within their ranges, one of them other than drawn, that break something; or nothing."""
    for i, (low, high, values) in enumerate(problem["free"]):
        for value in (high, low):
            sizes = list(problem["drawn"])
            sizes[i] = value
            if size_problem.broken(problem, sizes):
                return sizes
    return None


def check_models(problems, limit):
    """How many models took the sampler's draw, and how many refused wrong sizes."""
    taken = refused = 0
    for problem in problems[:CHECKED_MODELS]:
        for sizes, wanted in ((problem["drawn"], ("OPTIMAL", "FEASIBLE")), (wrong(problem), ("INFEASIBLE",))):
            if sizes is None:
                continue
            for whole_products in (False, True):
                model = Model(problem, whole_products)
                for variable, value in zip(model.free, sizes):
                    model.model.add(variable == value)
                outcome = solve(model, {}, 1, limit)[1]
                if outcome not in wanted:
                    raise SystemExit("program %d fixed at %s: %s" % (problem["index"], sizes, outcome))
            taken += wanted[0] == "OPTIMAL"
            refused += wanted[0] == "INFEASIBLE"
    return {"drawn_taken": taken, "wrong_refused": refused}


def of_other_seeds(problems, limit):
    """Different answers, of as many seeds."""
    different = []
    for problem in problems[:SEEDS]:
        answers = {tuple(solve(Model(problem), {}, seed, limit)[0] or ()) for seed in range(SEEDS)}
        different.append(len(answers))
    return {"seeds": SEEDS, "different_answers": different}


def draw(tool, level, count, window=None):
    flags = ["--level", level, "--count", count]
    if window:
        flags += ["--window", "%d:%d" % window]
    process = subprocess.run(list(map(str, [tool, *flags])), check=True, capture_output=True, text=True)
    return [json.loads(line) for line in process.stdout.splitlines()]


def row(problems, limit):
    made = {"sampler": by_sampler(problems), "models": check_models(problems, limit),
            "cpsat": [by_cpsat(problems, way, limit) for way in WAYS],
            "other_seeds": of_other_seeds(problems, limit)}
    best = max(made["cpsat"], key=lambda found: found["build_and_solve"]["per_s"])
    made["best_way"] = best["way"]
    return made


def show(made):
    best = next(found for found in made["cpsat"] if found["way"] == made["best_way"])
    sizes, cpsat = made["sampler"]["sizes"], best["build_and_solve"]
    print("level %2d  window %-5s  %4d programs  sampler: programs %8.1f/s, sizes %8.1f/s (%.3f, %.3f ms)"
          "  CP-SAT %7.1f/s (%.2f, %.1f ms), solving alone %7.1f/s, %d of %d (%s)  %.1f times" % (
              made["level"], made["window"] or "-", made["programs"],
              made["sampler"]["programs"]["per_s"], sizes["per_s"], 1e3 * sizes["median_s"],
              1e3 * sizes["p99_s"], cpsat["per_s"], 1e3 * cpsat["median_s"], 1e3 * cpsat["p99_s"],
              best["solve"]["per_s"], best["solved"], best["of"], best["way"],
              sizes["per_s"] / cpsat["per_s"]), flush=True)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def pairs(text):
    return [tuple(part.split(":")) for part in text.split(",") if part]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="build/synth_problems")
    parser.add_argument("--out", required=True)
    parser.add_argument("--levels", default=LEVELS, help="LEVEL:PROGRAMS,.. (%(default)s)")
    parser.add_argument("--windows", default=WINDOWS,
                        help="HIGH/LOW:PROGRAMS,.. at level 5 (%(default)s)")
    parser.add_argument("--limit", type=float, default=20, help="seconds of a solve (%(default)g)")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # and what it starts: one core
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude", "*"], cwd=ROOT,
                            capture_output=True, text=True).stdout.strip()
    result = {
        "command": "bench/synth_cpsat.py build/synth_problems --levels %s --windows %s --limit %g" % (
            arguments.levels, arguments.windows, arguments.limit),
        "commit": commit,
        "environment": {"device": processor(), "cores": os.cpu_count(), "used": "one core for both",
                        "python": platform.python_version(), "ortools": ortools.__version__},
        "in_favour_of_cpsat": [
            "the skeleton is given: what has no sizes was rejected before",
            "free sizes solved for, their ranges narrowed and the lower end of the window known",
            "any answer counts, where the sampler's are uniform",
            "of the ways to state and solve, the fastest on each row"],
        "in_favour_of_the_sampler": [
            "programs are those that it drew: skeletons whose sizes it gave up (given_up_before) are "
            "not among them"],
        "rows": []}
    draw_and_solve = [(int(level), None, int(count)) for level, count in pairs(arguments.levels)]
    draw_and_solve += [(5, float(ratio), int(count)) for ratio, count in pairs(arguments.windows)]
    by_cpsat(draw(arguments.tool, 1, 20), "defaults", arguments.limit)  # libraries are loaded
    for level, ratio, count in draw_and_solve:
        if ratio:
            # About half of the programs cannot reach so much.
            problems = [problem for problem in draw(arguments.tool, level, 4 * count,
                                                    (LOW_FLOPS, LOW_FLOPS * ratio))
                        if problem["window"][0] == LOW_FLOPS][:count]
        else:
            problems = draw(arguments.tool, level, count)
        load = os.getloadavg()[0]
        made = {"level": level, "window": ratio, "programs": len(problems), "load_before": load,
                **row(problems, arguments.limit)}
        result["rows"].append(made)
        show(made)
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
