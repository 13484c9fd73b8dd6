#!/usr/bin/env python3
"""Writes docs/operators.md from the one table of operators (src/ops/operator_table.cc).

    scripts/operators_doc.py            rewrite it
    scripts/operators_doc.py --check    fail when it is not what the table says
"""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src/ops/operator_table.cc"
DOCUMENT = ROOT / "docs/operators.md"

ROW = re.compile(
    r'\{"(?P<name>[\w.]+)",\s*"(?P<schema>(?:[^"\\]|\\.)*)",\s*'
    r"OpClass::k(?P<cls>\w+), Recording::k(?P<recorded>\w+), Numerics::k(?P<numerics>\w+), "
    r'(?P<flops>[\d.]+),\s*"(?P<triton>(?:[^"\\]|\\.)*)"'
    r'(?:, (?P<integers>true|false))?(?:,\s*"(?P<steps>[\w. ]*)")?(?:,\s*"[\w ]*")*\}', re.S)

# The kernel family that writes a class of operators where the row itself has no expression.
FAMILIES = {"Pointwise": "pointwise", "Reduction": "reduction", "Scan": "reduction",
            "Softmax": "reduction", "Norm": "reduction", "Matmul": "matmul", "Conv": "convolution",
            "Pool": "pointwise, reduction", "Copy": "pointwise", "View": "(an index map)",
            "Loss": "pointwise, reduction", "Factory": "(a constant)",
            "Init": "as the operator without _"}

# Why the teacher writes no kernel: (pattern of names, reason), the first that fits.
NO_ORDER = "no family orders elements"
WRITES = "in PyTorch's random stream: a kernel cannot draw the same numbers"
COMPLEX = "Triton has no complex numbers"
ATOMIC = "elements meet at one place: no family has atomics"
RARE = "seldom in models: none yet"
UNWRITTEN = [
    ("aten.scaled_dot_product_attention.*", "a fused kernel of the library's is there; none yet"),
    ("aten.lstm*", "hundreds of dependent steps"), ("aten.gru*", "hundreds of dependent steps"),
    ("aten.rnn_*", "hundreds of dependent steps"),
    ("aten.ctc_loss.*", "a recursion over time"),
    ("aten.median.*", NO_ORDER), ("aten.nanmedian.*", NO_ORDER), ("aten.kthvalue.*", NO_ORDER),
    ("aten.mode.*", NO_ORDER), ("aten.masked_scatter*", NO_ORDER),
    ("aten.scatter*", ATOMIC), ("aten.index_add*", ATOMIC), ("aten.index_put*", ATOMIC),
    ("aten.index_fill*", ATOMIC), ("aten.index_copy*", ATOMIC), ("aten.max_unpool*", ATOMIC),
    ("aten.col2im.*", ATOMIC), ("aten._cdist_forward.*", RARE), ("aten._euclidean_dist.*", RARE),
    ("aten._embedding_bag*", RARE), ("aten._trilinear.*", RARE), ("aten._upsample_bi*_aa.*", RARE),
    ("aten.diagonal_scatter.*", RARE), ("aten._weight_norm_interface.*", "none yet"),
    ("aten.dist.*", RARE), ("aten.block_diag.*", RARE), ("aten.linalg_qr.*", "constructors only"),
    ("aten.as_strided.*", "memory, not elements: no index map"), ("aten.trace.*", RARE),
    ("aten.multi_margin_loss.*", RARE), ("aten.linspace.*", RARE), ("aten.*_window.*", RARE),
    ("aten.digamma.*", RARE), ("aten.addr.*", RARE),
    ("aten.view.dtype", "memory, not elements: no index map"),
    *[("aten.%s.default" % name, COMPLEX)
      for name in ("complex", "polar", "_conj_physical", "angle", "view_as_real", "view_as_complex")],
    ("aten.*empty_strided.*", RARE), ("aten.eye.*", RARE), ("aten.logspace.*", RARE),
    ("aten.fill_diagonal_.*", RARE), ("aten.pow_.Tensor", RARE),
    ("aten.tri*_indices.*", RARE), ("aten.multilabel_margin_loss*", RARE),
]


def rows():
    text = TABLE.read_text()
    found = [match.groupdict() for match in ROW.finditer(text)]
    count = len(re.findall(r'^    \{"', text, re.M))
    assert len(found) == count, "%d of %d rows are understood" % (len(found), count)
    return found


SYNTH_OPERATORS = ROOT / "src/synth/skeleton/synth_operators.cc"
SYNTH_ROWS = ROOT / "src/synth/skeleton/rows.cc"
STRING = r'"((?:[^"\\]|\\.)*)"'


def drawn():
    """Name of a row less "aten.": the synthesised calls that are made of it."""
    calls = {}
    pattern = r"\{" + STRING + r",\s*Domain::\w+,\s*\d,\s*" + r",\s*".join([STRING] * 3) + r"\}"
    for name, _, _, made_of in re.findall(pattern, SYNTH_OPERATORS.read_text()):
        for row in made_of.split():
            calls.setdefault(row, []).append(name)
    return calls


def reasons():
    """Why rows are in no call: (pattern of names, reason), and by class."""
    text = SYNTH_ROWS.read_text()
    named = dict(re.findall(r"constexpr std::string_view (k\w+) =\s*" + STRING + ";", text))
    found = re.findall(r"\{" + STRING + r",\s*(?:" + STRING + r"|(k\w+))\}", text)
    of_class = re.findall(r"case OpClass::k(\w+):\s*return " + STRING + ";", text)
    return [(pattern, why or named[name]) for pattern, why, name in found], dict(of_class)


def synthesis(row, calls, patterns, of_class):
    name = row["name"].removeprefix("aten.")
    if name in calls:
        return ", ".join(calls[name])
    why = next((why for pattern, why in patterns if fnmatch(name, pattern)), None)
    return "- (%s)" % (why or of_class[row["cls"]])


def unwritten(row):
    """The reason for no teacher family, or None."""
    for pattern, reason in UNWRITTEN:
        if fnmatch(row["name"], pattern):
            return reason
    if row["cls"] == "Random":
        return WRITES
    return NO_ORDER if row["cls"] == "Sort" else None


def teacher(row):
    if row["recorded"] == "Decompose":
        return "its parts"
    return unwritten(row) or FAMILIES[row["cls"]]


CLASS_NAMES = {"Conv": "convolution", "Pool": "pooling", "Init": "in-place"}


def document():
    table = rows()
    whole = sum(row["recorded"] == "Whole" for row in table)
    lines = [
        "# Operators", "",
        "Made from `src/ops/operator_table.cc` by `scripts/operators_doc.py`. %d operators: %d are"
        % (len(table), whole),
        "recorded whole, %d are taken apart as PyTorch does it; any other is taken apart where PyTorch"
        % (len(table) - whole),
        "can, and stays PyTorch's call where it cannot (recording.md). What is recorded is what PyTorch runs on CUDA.", "",
        "Numerics is the class of the error budget ([numerics.md](numerics.md)). Flops are for each",
        "element of the larger of operands and result, for matrix products and convolutions for each",
        "multiply-add. \"+ integers\" after the class: integers in give integers out, and a trial relies on",
        "that. Teacher is the kernel family that writes it, or why there is none: it writes",
        "%d, or all that they are taken apart into."
        % sum(row["recorded"] == "Decompose" or unwritten(row) is None for row in table),
    ]
    lines += ["Synthesis: the calls of synthesised programs ([synthesis.md](synthesis.md)) that it is in, or"
              " why it", "is in none: %d are." % sum(row["name"].removeprefix("aten.") in drawn() for row in table)]
    calls, (patterns, of_class) = drawn(), reasons()
    classes = list(dict.fromkeys(row["cls"] for row in table))
    for cls in classes:
        mine = [row for row in table if row["cls"] == cls]
        lines += ["", "## %s" % CLASS_NAMES.get(cls, cls.lower()).capitalize(), "",
                  "| operator | schema | recorded | numerics | flops | teacher | synthesis |",
                  "|---|---|---|---|---|---|---|"]
        for row in mine:
            schema = row["schema"].replace('\\"', '"').replace("|", "\\|")
            lines.append("| %s | `%s` | %s | %s | %s | %s | %s |" % (
                short(row["name"]), schema,
                row["recorded"].lower(), row["numerics"].lower() + (" + integers" if row["integers"] == "true" else ""), row["flops"],
                teacher(row), synthesis(row, calls, patterns, of_class)))
    lines += ["", "## Fused operators", "",
              "The steps that a program without the operator takes: what it is worth in Triton's share",
              "([verdict.md](formats/verdict.md)). Names that are in this table too are made of steps themselves.",
              "", "| operator | steps |", "|---|---|"]
    lines += ["| %s | %s |" % (short(row["name"]), " ".join(map(short, row["steps"].split())))
              for row in table if row["steps"]]
    return "\n".join(lines) + "\n"


def short(name):
    """aten.add.Tensor, aten.exp.default: add.Tensor, exp."""
    return name.removeprefix("aten.").removesuffix(".default")


def main():
    text = document()
    if "--check" in sys.argv:
        if not DOCUMENT.exists() or DOCUMENT.read_text() != text:
            print("docs/operators.md is out of date: run scripts/operators_doc.py")
            return 1
        return 0
    DOCUMENT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
