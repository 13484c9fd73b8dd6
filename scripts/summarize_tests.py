"""Adds up the JUnit files of a test run and checks its skips against the expected ones.

    summarize_tests.py RESULTS_FOLDER EXPECTED_SKIPS

A line of EXPECTED_SKIPS is `glob | reason`, the glob over `Suite.Test` or `module::test`. Exit 1
when a test failed, when a skip matches no line, or when nothing ran. What tests recorded as the
property "figures" is printed.
"""

import fnmatch
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def read_expected(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return [line.split("|")[0].strip() for line in lines if line.strip() and line[0] != "#"]


def case_outcome(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("result") == "skipped":
        return "skipped"
    return "passed"


def main(folder, expected_path):
    expected = read_expected(expected_path)
    names = {"passed": [], "failed": [], "skipped": []}
    for file in sorted(pathlib.Path(folder).glob("*.xml")):
        for case in ElementTree.parse(file).getroot().iter("testcase"):
            separator = "::" if file.name == "pytest.xml" else "."
            name = f"{case.get('classname')}{separator}{case.get('name')}"
            names[case_outcome(case)].append(name)
            for figures in case.findall("properties/property[@name='figures']"):
                print(figures.get("value"))
    unexpected = [
        name
        for name in names["skipped"]
        if not any(fnmatch.fnmatchcase(name, glob) for glob in expected)
    ]
    for name in names["failed"]:
        print(f"failed: {name}")
    for name in unexpected:
        print(f"unexpected skip: {name} (explain it in {expected_path})")
    print(", ".join(f"{len(names[kind])} {kind}" for kind in ("passed", "failed", "skipped")))
    return 1 if names["failed"] or unexpected or not names["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
