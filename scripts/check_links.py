"""Checks that links and paths of the project's pages lead somewhere. A relative link names a file that
is there, and a part after # names a heading of a page. Links to other hosts are left alone. A path in
code of a page, or in a comment, names a file or folder, with or without its extension."""

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)
# Paths of the repository, and names of C++ files without their folder.
PATH = re.compile(r"(?<![\w./-])(?:(?:src|worker|tests|scripts|docs|bench|cmake)/[\w./*<>{},$-]*|\w+\.(?:h|cc)\b)")
PLACEHOLDER = re.compile(r"[*<>{},$]|(?<![A-Za-z])([A-Z]+|x)(?![a-z])")  # src/*, NAME_command.cc, x_test.cc
CHECKED = re.compile(r"(README|CONTRIBUTING|docs/.*)\.md$|(src|worker|cmake|scripts)/.*\.(h|cc|py|cmake)$")
MADE = {"bench/out"}  # by scripts, so that a checkout may lack it


def plain(text):
    """Returns a page without code and HTML comments, with as many lines."""
    text = re.sub(r"<!--.*?-->", lambda match: "\n" * match[0].count("\n"), text, flags=re.S)
    return CODE.sub(lambda match: "\n" * match[0].count("\n"), text)


def anchors(page):
    """Returns the anchors of a page's headings, as GitHub makes them."""
    found = set()
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} +(.+?) *$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while (name := anchor if not number else f"{anchor}-{number}") in found:
            number += 1
        found.add(name)
    return found


def complaints(page):
    """Yields (line, complaint) for each link of a page that leads nowhere."""
    text = plain(page.read_text())
    for match in LINK.finditer(text):
        target, line = match[1], text.count("\n", 0, match.end()) + 1
        if re.match(r"[a-z]+:", target):
            continue
        path, _, part = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.is_relative_to(ROOT) or not there.exists():
            yield line, f"there is no {target}"
        elif part and (there.suffix != ".md" or part not in anchors(there)):
            yield line, f"{path or 'this page'} has no heading #{part}"


def known(names):
    """Returns what a path may be: files and folders with and without extension, and names of files."""
    paths = [PurePosixPath(name) for name in names]
    folders = {str(parent) for path in paths for parent in path.parents}
    return MADE | folders | {str(each) for path in paths for each in (path, path.with_suffix(""), path.name)}


def lost_paths(file, there):
    """Yields (line, complaint) for each path in a page's code, or in a comment, that is not there."""
    page = file.suffix == ".md"
    comment = re.compile(r"(?:^|\s)//(.*)" if file.suffix in (".h", ".cc") else r"(?:^|\s)# (.*)")
    for line, text in enumerate(file.read_text().splitlines(), 1):
        for span in (re.compile(r"`([^`]+)`") if page else comment).findall(text):
            for path in PATH.findall(span):
                path = path.rstrip("./")
                if ("/" in path or page) and not PLACEHOLDER.search(path) and path not in there:
                    yield line, f"there is no {path}"


def main():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split()
    names = [name for name in names if (ROOT / name).exists()]
    pages = [ROOT / name for name in names if name.endswith(".md")]
    found = [(page, *each) for page in pages for each in complaints(page)]
    there = known(names)
    found += [(ROOT / name, *each) for name in names if CHECKED.match(name)
              for each in lost_paths(ROOT / name, there)]
    for page, line, complaint in found:
        print(f"{page.relative_to(ROOT)}:{line}: {complaint}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
