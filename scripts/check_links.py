"""Checks that links of the project's pages lead somewhere: relative links name a file that is there,
and a part after # names a heading of a page. Links to other hosts are left alone."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)


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


def main():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split()
    pages = [ROOT / name for name in names if (ROOT / name).exists()]
    found = [(page, *each) for page in pages for each in complaints(page)]
    for page, line, complaint in found:
        print(f"{page.relative_to(ROOT)}:{line}: {complaint}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
