"""`kernelwright synth --stats`: its numbers, counted again here from the rows."""

import collections
import html.parser
import json
import math
import re

import pytest

from command import ROOT, run


def draw(path, *flags):
    process = run("synth", "--out", path, *flags)
    assert process.returncode == 0, process.stderr
    return read(path)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def stats(path, *flags):
    process = run("synth", "--stats", path, *flags)
    assert process.returncode == 0, process.stderr
    return process.stdout


class Page(html.parser.HTMLParser):
    """Figures of the cards by what they mean, and tooltips by chart."""

    def __init__(self, text):
        super().__init__()
        self.cards, self.charts, self.tables, self.open = {}, {}, {}, []
        self.chart = self.figure = self.section = None
        self.feed(text)
        assert not self.open, "all elements end"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.open.append((tag, attributes.get("class", "")))
        if tag == "section":
            self.section = self.tables.setdefault(attributes["id"], [])
        if tag == "svg":
            self.chart = self.charts.setdefault(attributes["aria-label"], {})
        if tag == "tr":
            self.section.append([])
        if tag == "td":
            self.section[-1].append("")

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tag, style = self.open[-1] if self.open else ("", "")
        if style == "figure":
            self.figure = data
        elif style == "meaning":
            self.cards[data] = self.figure
        elif tag == "title" and "svg" in [name for name, _ in self.open]:
            name, _, count = data.rpartition(": ")
            assert name not in self.chart
            self.chart[name] = int(count.split()[0])
        elif any(name == "td" for name, _ in self.open):
            self.section[-1][-1] += data


def reads_of(row):
    """(producer, consumer) as steps' indices, one for each read."""
    made = {step["result"]: index for index, step in enumerate(row["steps"])}
    return [(made[name], index) for index, step in enumerate(row["steps"])
            for name in step["operands"] if name in made]


def pairs_of(rows):
    return collections.Counter(
        tuple(row["steps"][index]["operator"] for index in read)
        for row in rows for read in reads_of(row))


def depth_of(row):
    depth = [1] * len(row["steps"])
    for producer, consumer in reads_of(row):
        depth[consumer] = max(depth[consumer], depth[producer] + 1)
    return max(depth)


def elements(shape):
    return math.prod(shape)


def octave(x):
    """"2^3 to below 2^4" of 8 to 15."""
    power = 0
    while 2 ** (power + 1) <= x:
        power += 1
    return "2^%d to below 2^%d" % (power, power + 1)


def place(row):
    low, high = row["window"]
    part = min(19, int(20 * math.log(row["flops"] / low) / math.log(high / low)))
    return "%d %% to %d %%" % (5 * part, 5 * part + 5)


def distributions_of(rows):
    reads = [collections.Counter(producer for producer, _ in reads_of(row)) for row in rows]
    shapes = [shape for row in rows for shape in row["tensors"].values()]
    kinds = [collections.Counter(name[0] for name in row["tensors"]) for row in rows]
    costly = [row for row in rows if row["flops"] > 0]
    listed = {
        "Depth": [depth_of(row) for row in rows],
        "Fan-out": [read[index] for row, read in zip(rows, reads)
                    for index in range(len(row["steps"]))],
        "Inputs": [kind["x"] for kind in kinds],
        "Parameters": [kind["w"] for kind in kinds],
        "Outputs": [len(row["steps"]) - len(read) for row, read in zip(rows, reads)],
        "Ranks": [len(shape) for shape in shapes],
        "Sizes": [octave(size) for shape in shapes for size in shape],
        "Largest tensor": [octave(max(map(elements, row["tensors"].values()))) for row in rows],
        "FLOPs": [octave(row["flops"]) if row["flops"] else "none" for row in rows],
        "Place in the window": [place(row) for row in costly],
    }
    return {name: dict(collections.Counter(map(str, values))) for name, values in listed.items()}


def check(path, tmp_path, all_pairs):
    """Terminal and page against the rows; the page."""
    rows = read(path)
    text = stats(path, "--out", tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text())
    assert text == stats(path) + "%s\n" % (tmp_path / "page.html")
    structures = {row["structure"] for row in rows}
    steps = collections.Counter(step["operator"] for row in rows for step in row["steps"])
    pairs = pairs_of(rows)
    assert set(pairs) <= all_pairs
    operators = {name for pair in all_pairs for name in pair}
    terminal = [int(number) for number in re.search(
        r"^(\d+) programs: (?:.*\n)structures: (\d+) distinct; rows that repeat an earlier one's: "
        r"(\d+).*\noperators: (\d+) of (\d+) occur; .*\npairs: (\d+) of (\d+) that can occur",
        text).groups()]
    assert terminal == [len(rows), len(structures), len(rows) - len(structures), len(steps),
                        len(operators), len(pairs), len(all_pairs)]
    assert page.cards["programs"] == str(len(rows))
    assert page.cards["distinct structures"] == str(len(structures))
    assert page.cards["operators occur"] == "%d of %d" % (len(steps), len(operators))
    assert page.cards["ordered pairs occur"] == "%d of %d" % (len(pairs), len(all_pairs))
    cells = {tuple(name.split(" → ")): count
             for name, count in page.charts.pop("Reads of results by pair of operators").items()}
    assert set(cells) == all_pairs
    assert {pair: count for pair, count in cells.items() if count} == pairs
    assert {name: {value: count for value, count in chart.items() if count}
            for name, chart in page.charts.items()} == distributions_of(rows)
    table = {row[0]: row[1:] for row in page.tables["operators"] if row}
    assert set(table) == operators
    for name, (count, _, programs, *_) in table.items():
        assert int(count) == steps[name]
        assert int(programs) == sum(
            any(step["operator"] == name for step in row["steps"]) for row in rows)
    return rows, text, page


@pytest.fixture(scope="module")
def all_pairs(tmp_path_factory):
    """Pairs that programs of two steps have, by going through all of them; and the one whose
    programs of two steps compute nothing, so that they are not drawn."""
    rows = draw(tmp_path_factory.mktemp("cover") / "tasks.jsonl", "--no-hygiene", "--level", 2,
                "--cover", "--count", 3721)
    pairs = {tuple(step["operator"] for step in row["steps"]) for row in rows}
    assert pairs == set(pairs_of(rows)) and ("Transpose", "Transpose") not in pairs
    return pairs | {("Transpose", "Transpose")}


@pytest.mark.parametrize("flags", [
    ("--level", 1, "--count", 400), ("--level", 2, "--count", 800, "--only", "Add,ReLU,Sum,Tril"),
    ("--level", 5, "--count", 800), ("--level", 12, "--count", 40, "--dtype", "float16"),
])
def test_numbers_are_those_of_the_rows(tmp_path, all_pairs, flags):
    path = tmp_path / "tasks.jsonl"
    draw(path, "--no-hygiene", *flags)
    rows, text, page = check(path, tmp_path, all_pairs)
    assert "rejected" not in text and "rejected" not in page.tables
    assert text.startswith("%d programs: level %d; %s; split " % (
        len(rows), flags[1], rows[0]["dtype"]))


def test_repeated_structures_are_shown(tmp_path, all_pairs):
    path = tmp_path / "tasks.jsonl"
    draw(path, "--no-hygiene", "--level", 1, "--count", 300, "--only", "ReLU,Sum")
    rows, text, page = check(path, tmp_path, all_pairs)
    counts = collections.Counter(row["structure"] for row in rows)
    assert max(counts.values()) > 2
    assert "is there %d times)" % max(counts.values()) in text
    shown = [row for row in page.tables["structures"] if row]
    assert [int(row[0]) for row in shown] == sorted(counts.values(), reverse=True)[:20]
    by_id = {row["id"]: row for row in rows}
    for count, start, operators, example in shown:
        row = by_id[example]
        assert row["structure"].startswith(start) and counts[row["structure"]] == int(count)
        assert operators == ", ".join(step["operator"] for step in row["steps"])


@pytest.mark.parametrize("level", [1, 2, 5, 20])
def test_rejected_programs_are_counted(tmp_path, all_pairs, level):
    """Of the suites, whose rows tell what was drawn before them."""
    rows, text, page = check(ROOT / "suites" / ("level%d.jsonl" % level), tmp_path, all_pairs)
    flaws, examined, of_operator = collections.Counter(), collections.Counter(), {}
    for row in rows:
        examined.update({step["operator"] for step in row["steps"]})
        for program in row["rejected"]:
            flaws[program["flaw"]] += 1
            for name in set(program["operators"]):
                examined[name] += 1
                of_operator.setdefault(name, collections.Counter())[program["flaw"]] += 1
    rejected = sum(flaws.values())
    assert rejected > 0
    assert "examined %d, rejected %d (" % (len(rows) + rejected, rejected) in text
    assert {row[0]: int(row[1]) for row in page.tables["rejected"] if row} == flaws
    for name, *_, count, _, _, reasons in [row for row in page.tables["operators"] if row]:
        assert int(count) == examined[name]
        assert reasons == ", ".join("%s %d" % flaw for flaw in sorted(
            of_operator.get(name, {}).items())) or (reasons == "–" and name not in of_operator)


def test_files_may_be_put_together(tmp_path, all_pairs):
    path = tmp_path / "tasks.jsonl"
    text = "".join((ROOT / "suites" / ("level%d.jsonl" % level)).read_text() for level in (1, 5))
    draw(path, "--no-hygiene", "--level", 3, "--count", 50, "--dtype", "bfloat16")
    path.write_text(text + path.read_text())
    rows, text, _ = check(path, tmp_path, all_pairs)
    assert text.startswith("250 programs: levels 1 (100), 3 (50), 5 (100); float32 (200), "
                           "bfloat16 (50); split ")
    examined = 200 + sum(len(row.get("rejected", [])) for row in rows)
    assert "examined %d, rejected %d (" % (examined, examined - 200) in text


@pytest.mark.parametrize("spoil, says", [
    (lambda lines: lines[:2] + ["{"] + lines[2:], "tasks.jsonl:3: not JSON"),
    (lambda lines: lines[:4] + ["{}"], "tasks.jsonl:5: missing member"),
    (lambda lines: [lines[0].replace('"operator":"ReLU"', '"operator":"Relu"')],
     "tasks.jsonl:1.steps[0].operator: is no operator"),
    (lambda lines: [*lines[:5], lines[5][:100]], "tasks.jsonl:6: not JSON"),
    (lambda lines: [], "tasks.jsonl: has no tasks"),
])
def test_what_is_no_task_is_said(tmp_path, spoil, says):
    path = tmp_path / "tasks.jsonl"
    draw(path, "--no-hygiene", "--level", 2, "--count", 6, "--only", "ReLU")
    path.write_text("".join(line + "\n" for line in spoil(path.read_text().splitlines())))
    process = run("synth", "--stats", path, "--out", tmp_path / "page.html")
    assert process.returncode == 2 and says in process.stderr
    assert process.stdout == "" and not (tmp_path / "page.html").exists()


def test_tasks_are_not_written_over(tmp_path):
    path = tmp_path / "tasks.jsonl"
    draw(path, "--no-hygiene", "--level", 2, "--count", 6)
    before = path.read_bytes()
    process = run("synth", "--stats", path, "--out", path)
    assert process.returncode == 2 and "is no page" in process.stderr
    assert path.read_bytes() == before
    page = tmp_path / "page.html"
    stats(path, "--out", page)
    first = page.read_bytes()
    draw(tmp_path / "more.jsonl", "--no-hygiene", "--level", 3, "--count", 6)
    stats(tmp_path / "more.jsonl", "--out", page)  # a page may be
    assert page.read_bytes() != first


@pytest.mark.parametrize("flags, says", [
    (["--stats", "nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
    (["--stats", "{tmp}"], "is a folder"),
    (["--stats", "{tmp}/tasks.jsonl", "--out", "{tmp}/no/page.html"], "page.html: there is no folder"),
    (["--stats", "{tmp}/tasks.jsonl", "--check", "{tmp}/tasks.jsonl"], "excludes"),
])
def test_mistakes_are_named(tmp_path, flags, says):
    draw(tmp_path / "tasks.jsonl", "--no-hygiene", "--level", 1, "--count", 2)
    process = run("synth", *[flag.format(tmp=tmp_path) for flag in flags])
    assert process.returncode == 2 and says in process.stderr, process.stderr
