"""Measures the prose of the project: words a sentence in documents and in comments.

    scripts/prose.py                    a line for each page, and one for the comments of src/ and worker/
    scripts/prose.py --check            only what passes the limits below, with its long sentences; then exit 1
    scripts/prose.py --long FILE...     the sentences of over 30 words and the words to avoid in these files

A sentence ends with ".", "!" or "?" before a space, and with its paragraph, list item or comment block.
Code, tables, headings and generated parts are no prose. A span of code and a link count as one word
and as the words of its text.
"""

import argparse
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONG = 40  # words: what counts as a long sentence
# Limits: mean words a sentence, share of long sentences.
PAGE_LIMITS = 20, 0.03
COMMENT_LIMITS = 18, 0.05
GENERATED = {"docs/operators.md", "docs/cli.md"}  # by a script
AVOID = re.compile(r"\b(hangs? on|hung on|anew|whoever|stands? (?!for\b|in for\b)|stood)\b", re.I)
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|Fig|No|resp|approx)\.$")


def sentences(text):
    """The sentences of one paragraph, as lists of words."""
    text = re.sub(r"``.+?``|`[^`]*`", "CODE", text, flags=re.S)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^>\s][^>]*>", " ", text)
    text = re.sub(r"[*_]{2,}", "", text)
    found, words = [], []
    for word in text.split():
        if re.search(r"[A-Za-z0-9]", word):
            words.append(word)
        end = word.rstrip("\"')]*_")
        if words and end.endswith((".", "!", "?")) and not ABBREVIATION.search(end):
            found.append(words)
            words = []
    if words:
        found.append(words)
    return found


def markdown_paragraphs(text):
    """Yields (line, paragraph): prose paragraphs and list items, without code, tables and headings."""
    text = re.sub(r"<!-- (table|generated)\b.*?<!-- end -->", lambda m: "\n" * m[0].count("\n"), text,
                  flags=re.S)
    text = re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    fenced, start, lines, blank = False, 0, [], True
    for number, line in enumerate(text.splitlines() + [""], 1):
        fence = line.strip().startswith("```")
        starts_item = re.match(r"\s*([-*+]|\d+\.)\s+", line)
        other = (fence or fenced or not line.strip() or line.lstrip().startswith(("|", "#", ">"))
                 or (blank and line.startswith("    ") and not starts_item))
        if (other or starts_item) and lines:
            yield start, " ".join(lines)
            lines = []
        if fence:
            fenced = not fenced
        if not other:
            if not lines:
                start = number
            lines.append(re.sub(r"^\s*([-*+]|\d+\.)\s+", "", line).strip())
        # Code that is indented goes on to the next line that is not. Text indented below a list item
        # is the item's, not code.
        indented = blank and line.startswith("    ")
        blank = other and not (fence or fenced) and (indented or not line.strip())


def cpp_comments(text):
    """Yields (line, block): a block is a run of lines of comment; what stands after code starts one."""
    start, lines = 0, []
    for number, line in enumerate(text.splitlines() + [""], 1):
        # A "//" within a string is no comment; strings here are short enough to be taken out.
        plain = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: "_" * len(m[0]), line)
        at = plain.find("//")
        whole = at >= 0 and not plain[:at].strip()
        if lines and not whole:
            yield start, "\n".join(lines)
            lines = []
        if at >= 0:
            content = line[at + 2:].strip()
            if not content.startswith(("clang-format", "NOLINT", "namespace")):
                if not lines:
                    start = number
                lines.append(content)


def python_comments(text):
    """Yields (line, block): runs of comment lines, and docstrings by paragraph."""
    start, lines, last = 0, [], -1
    previous = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            content = token.string.lstrip("#!").strip()
            whole = not token.line[:token.start[1]].strip()
            if lines and (token.start[0] != last + 1 or not whole):
                yield start, "\n".join(lines)
                lines = []
            if not lines:
                start = token.start[0]
            lines.append(content)
            last = token.start[0]
        elif token.type == tokenize.STRING and previous in (None, tokenize.INDENT, tokenize.NEWLINE):
            body = re.sub(r'^[rRbBuU]*("""|\'\'\'|"|\')|("""|\'\'\'|"|\')$', "", token.string)
            yield token.start[0], body
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            previous = token.type
    if lines:
        yield start, "\n".join(lines)


def comment_paragraphs(blocks):
    """Yields (line, paragraph): comment blocks, split at empty lines and at list items."""
    for line, block in blocks:
        lines = []
        for each in block.splitlines() + [""]:
            item = re.match(r"\s*([-*+]|\d+\.)\s+", each)
            if (item or not each.strip()) and lines:
                yield line, " ".join(lines)
                lines = []
            if each.strip():
                lines.append(each[item.end() if item else 0:].strip())


def read(path):
    """(line, words) for each sentence of a file."""
    text = path.read_text()
    if path.suffix == ".md":
        paragraphs = markdown_paragraphs(text)
    elif path.suffix == ".py":
        paragraphs = comment_paragraphs(python_comments(text))
    else:
        paragraphs = comment_paragraphs(cpp_comments(text))
    for line, paragraph in paragraphs:
        for words in sentences(paragraph):
            yield line, words


def figures(lengths):
    if not lengths:
        return 0.0, 0.0
    return sum(lengths) / len(lengths), sum(n > LONG for n in lengths) / len(lengths)


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT,
                         capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in sorted(set(out.split())) if (ROOT / name).exists()]


def pages():
    for path in tracked("*.md"):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(("docs/", "examples/", "README", "CONTRIBUTING", "SECURITY", "CHANGELOG", "RELEASING")):
            if name not in GENERATED:
                yield name, path


def report(name, found, limits, only_failures):
    """Prints a line of figures, and returns whether they are as they must be."""
    mean, share = figures([len(words) for _, words in found])
    passed = mean <= limits[0] and share <= limits[1]
    mark = "" if passed else "   <- too long"
    if not passed or not only_failures:
        print(f"{name:44} {len(found):5} sentences, {mean:5.1f} words, {100 * share:5.1f} % over {LONG}{mark}")
    return passed


def show(path, longest):
    for line, words in read(path):
        if len(words) > longest:
            print(f"{path}:{line}: {len(words)} words: {' '.join(words)}")
        elif match := AVOID.search(" ".join(words)):
            print(f"{path}:{line}: \"{match[0].strip()}\": {' '.join(words)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail when a limit is passed, and show only where")
    parser.add_argument("--long", nargs="+", metavar="FILE", type=pathlib.Path,
                        help="show long sentences and words to avoid")
    options = parser.parse_args()
    if options.long:
        for path in options.long:
            show(path, 30)
        return 0
    good = True
    for name, path in pages():
        passed = report(name, list(read(path)), PAGE_LIMITS, options.check)
        if not passed and options.check:
            show(path, LONG)
        good &= passed
    for folder in ("src", "worker"):
        files = tracked(f"{folder}/*.cc", f"{folder}/*.h", f"{folder}/*.py")
        found = [each for path in files for each in read(path)]
        good &= report(f"comments of {folder}/", found, COMMENT_LIMITS, options.check)
    return 0 if good or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
