#!/usr/bin/env python3
"""Writes docs/cli.md from what the commands print for --help.

    scripts/cli_doc.py [--tool build/kernelwright]            rewrite the page
    scripts/cli_doc.py [--tool build/kernelwright] --check    fail when the page is not what they print
"""

import argparse
import collections
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs/cli.md"
COLUMN = 30  # at which CLI11 begins descriptions
SHARED = 4  # commands that must have a flag before it is described once for all

HEAD = re.compile(r"(?P<names>\S+)(?: (?P<type>TEXT|INT|UINT|FLOAT)(?::(?P<check>.*?))?(?:=(?P<default>\S+))?"
                  r"| (?P<form>(?!REQUIRED|Needs:|Excludes:|\.\.\.)\S+))?"
                  r"(?P<several> \.\.\.)?(?P<required> REQUIRED)?(?: Needs: (?P<needs>.*?))?"
                  r"(?: Excludes: (?P<excludes>.*))?$")
RANGE = re.compile(r"\w+ in \[(\S+) - (\S+)\]$")


@dataclass(frozen=True)
class Flag:
    """One flag or positional: how it is written, what else is known of it, and its description."""
    written: str
    notes: tuple
    text: str

    def line(self):
        notes = " (%s)" % "; ".join(self.notes) if self.notes else ""
        return "- `%s`%s: %s" % (self.written, notes, escaped(self.text))


@dataclass
class Help:
    """What one command prints, taken apart."""
    description: list
    usage: str
    groups: dict  # title: flags, without --help
    subcommands: dict  # name: description
    footer: list


def escaped(text):
    """Returns text of the tool as Markdown: < and * mean something there, and pages are links."""
    return re.sub(r"\bdocs/([\w/]+)\.md", r"[\1](\1.md)", text.replace("<", "&lt;").replace("*", "\\*"))


def flag(head, text):
    found = HEAD.match(head)
    assert found, head
    written, notes = found["names"], []
    check = found["check"] or ""
    if check.startswith("{"):
        written += " " + check.strip("{}").replace(",", "|")
    elif written.startswith("-") and (found["type"] or found["form"]):
        written += " " + (found["type"] or found["form"])
    limits = RANGE.match(check)
    if limits:
        notes.append("%s to %s" % limits.groups())
    elif check in ("POSITIVE", "NONNEGATIVE"):
        notes.append({"POSITIVE": "at least 1", "NONNEGATIVE": "0 or more"}[check])
    if found["default"]:
        notes.append("default `%s`" % found["default"].strip("[]"))
    if found["several"]:
        notes.append("one or more")
    if found["required"]:
        notes.append("required")
    for what, words in (("needs", "with"), ("excludes", "not with")):
        if found[what]:
            notes.append("%s %s" % (words, ", ".join("`%s`" % name for name in found[what].split())))
    return Flag(written, tuple(notes), text)


def take_apart(text):
    """CLI11's help: description, "Usage:", titled groups of two columns, footer."""
    before, usage, after = re.split(r"^Usage: (.*)$", text, maxsplit=1, flags=re.M)
    found = Help(before.strip().splitlines(), usage, {}, {}, [])
    title = None
    entries = []  # of (title, head, description)
    lines = after.splitlines()
    for number, line in enumerate(lines):
        if re.match(r"\S.*:$", line) and number + 1 < len(lines) and re.match(r"  [-\w]", lines[number + 1]):
            title = line[:-1]
        elif title and re.match(r" {20,}\S", line) and entries:
            entries[-1][2] = (entries[-1][2] + " " + line.strip()).strip()
        elif title and re.match(r"  \S", line):
            head, _, rest = line.strip().partition("  ")
            if not rest and not re.match(r" {20,}\S", (lines + [""])[number + 1]):
                head, rest = line[:COLUMN].strip(), line[COLUMN:]  # one space between them
            entries.append([title, head, rest.strip()])
        elif not line:
            title = None  # the end of a group
        elif line.strip():
            found.footer = lines[number:]
            break
    for title, head, description in entries:
        if title == "Subcommands":
            found.subcommands[head] = description
        elif not head.startswith("-h,"):
            found.groups.setdefault(title, []).append(flag(head, description))
    return found


def prose(lines):
    """Lines for people: paragraphs, and indented lines as code."""
    out = []
    for line in lines:
        code = line.startswith("  ")
        if code and out and out[-1] and not out[-1].startswith("    "):
            out.append("")
        if not code and line.strip() and out and out[-1].startswith("    "):
            out.append("")
        out.append("  " + line if code else escaped(line.strip()))
    return out


def ask(tool, *names):
    text = subprocess.run([tool, *names, "--help"], capture_output=True, text=True, check=True).stdout
    # Some defaults are paths of the tree that the tool was built from.
    cache = (Path(tool).resolve().parent / "CMakeCache.txt").read_text()
    source = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M)[1]
    return take_apart(text.replace(source + "/", ""))


def commands(tool):
    """(name, help) of each command that does something, in the order of the tool's own list."""
    found = []
    for name in ask(tool).subcommands:
        one = ask(tool, name)
        found += [(name + " " + part, ask(tool, name, part)) for part in one.subcommands] or [(name, one)]
    return found


def document(tool):
    whole, every = ask(tool), commands(tool)
    counts = collections.Counter(each for _, one in every for flags in one.groups.values() for each in flags)
    titles = [title for _, one in every for title in one.groups if title not in ("Options", "Positionals")]
    apart = {title: next(one.groups[title] for _, one in every if title in one.groups) for title in dict.fromkeys(titles)}
    shared = [each for each, count in counts.items() if count >= SHARED]

    lines = ["# Commands", "", "`scripts/cli_doc.py` makes this page from what each command prints for `--help`.", "",
             *prose(whole.description), "", "`kernelwright --version` prints the version.", "",
             "| command | what it does |", "|---|---|"]
    for name, one in every:
        lines.append("| [%s](#%s) | %s |" % (name, name.replace(" ", "-"), escaped(first_sentence(one.description))))
    lines += ["", "## Flags of several commands", "", *(each.line() for each in shared)]
    for title, flags in apart.items():
        lines += ["", "## %s" % title.split(" (docs/")[0], "", *(each.line() for each in flags)]
    for name, one in every:
        lines += ["", "## %s" % name, "", "    " + one.usage, "", *prose(one.description), ""]
        for group in ("Positionals", "Options"):
            lines += [each.line() for each in one.groups.get(group, []) if each not in shared]
        more = [each.written.split()[0] for each in one.groups.get("Options", []) if each in shared]
        if more:
            lines.append("- %s: see [above](#flags-of-several-commands)" % ", ".join("`%s`" % each for each in more))
        for title in one.groups:
            if title in apart:
                heading = title.split(" (docs/")[0]
                lines.append("- flags of %s: see [above](#%s)" % (
                    heading[0].lower() + heading[1:], heading.lower().replace(" ", "-")))
        if one.footer:
            lines += ["", *prose(one.footer)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).rstrip() + "\n"


def first_sentence(lines):
    text = " ".join(line.strip() for line in lines)
    return re.split(r" \(docs/|: |\. ", text)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tool", default=ROOT / "build/kernelwright")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = document(options.tool)
    if not options.check:
        DOCUMENT.write_text(text)
    elif not DOCUMENT.exists() or DOCUMENT.read_text() != text:
        print("docs/cli.md is not what --help prints: run scripts/cli_doc.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
