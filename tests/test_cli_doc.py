"""docs/cli.md is what the built commands print for --help, and says all of it."""

import subprocess
import sys

import pytest

from command import ROOT, binary

sys.path.insert(0, str(ROOT / "scripts"))
import cli_doc  # noqa: E402


def test_the_page_is_what_the_tool_prints():
    done = subprocess.run([sys.executable, str(ROOT / "scripts/cli_doc.py"), "--check", "--tool", str(binary())],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("head, line", [
    ("--budget TEXT=60s", "- `--budget TEXT` (default `60s`): what"),
    ("--backend TEXT:{auto,cpu,cuda}=auto", "- `--backend auto|cpu|cuda` (default `auto`): what"),
    ("--jobs INT:INT in [1 - 1024]", "- `--jobs INT` (1 to 1024): what"),
    ("--out TEXT REQUIRED", "- `--out TEXT` (required): what"),
    ("--beside WHAT[@N] ... Excludes: --a --b", "- `--beside WHAT[@N]` (one or more; not with `--a`, `--b`): what"),
    ("--baseline Excludes: --search", "- `--baseline` (not with `--search`): what"),
    ("--pair OURS=THEIRS ... Needs: --against", "- `--pair OURS=THEIRS` (one or more; with `--against`): what"),
    ("suite TEXT ... REQUIRED", "- `suite` (one or more; required): what"),
    ("--price FLOAT:NONNEGATIVE", "- `--price FLOAT` (0 or more): what"),
])
def test_a_flag_with_all_that_is_known_of_it(head, line):
    assert cli_doc.flag(head, "what").line() == line


def test_help_is_taken_apart():
    found = cli_doc.take_apart("""What it does
Usage: tool [OPTIONS] file

Positionals:
  file TEXT REQUIRED          a file

Options:
  -h,--help                   Print this help message and exit
  --judge-model TEXT REQUIRED one space before this
  --samples INT:INT in [1 - 1000]=1
                              on the next line

Others (docs/policies.md):
  --model TEXT                docs/learning.md has <more>

  tool a.py    an example
Last words.
""")
    assert (found.description, found.usage) == (["What it does"], "tool [OPTIONS] file")
    assert [each.written for each in found.groups["Options"]] == ["--judge-model TEXT", "--samples INT"]
    assert [each.text for each in found.groups["Options"]] == ["one space before this", "on the next line"]
    assert found.groups["Others (docs/policies.md)"][0].line() == "- `--model TEXT`: [learning](learning.md) has &lt;more>"
    assert found.footer == ["  tool a.py    an example", "Last words."]
