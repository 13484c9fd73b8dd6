"""The entries of tests/real_kernels: what they are made of. The libraries are not there, so nothing is judged."""

import ast

import real_kernels


def test_each_entry_gives_a_model_and_a_candidate():
    found = real_kernels.entries()
    assert len(found) >= 100 and len({entry.module for entry in found}) == len(found)
    for entry in found:
        defined = [{node.name for node in ast.parse(text).body if hasattr(node, "name")}
                   for text in (entry.reference_text, entry.candidate_text)]
        assert {"Model", "get_inputs", "get_init_inputs"} <= defined[0] and "ModelNew" in defined[1]
        assert entry.module not in entry.reference_text and "import " + entry.called[0] in \
            entry.candidate_text.replace("(", "")
        forward = ast.parse(entry.candidate_text).body[-1].body[-1]
        assert not any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.walk(forward))


def test_each_library_has_a_version():
    text = (real_kernels.KERNELS / "requirements.txt").read_text()
    pinned = {line.partition("==")[0].replace("-", "_") for line in text.splitlines() if "==" in line}
    assert {entry.library for entry in real_kernels.entries()} <= pinned


def test_entries_are_named_to_be_judged_alone():
    assert {entry.library for entry in real_kernels.entries(["xformers"])} == {"xformers"}
    one, = real_kernels.entries(["liger_kernel.rms_norm"])
    assert (one.name, one.why) == ("rms_norm", None)
    assert real_kernels.entries(["liger_kernel.cross_entropy"])[0].why
