"""What bench/ asks of the models of recipes' runs."""

import sys

import pytest

from command import ROOT, binary, run

sys.path.insert(0, str(ROOT / "bench"))
import recipe_runs  # noqa: E402


# That the program takes it, which it says by what it says of a suite that is not there.
@pytest.mark.parametrize("name", ["smoke", "ablation"])
def test_models_are_asked_by_a_command_that_the_program_takes(name, tmp_path):
    settings = recipe_runs.settings_of(binary(), recipe_runs.recipe(name, "rl"))
    words = recipe_runs.evaluation(tmp_path / "nothing.jsonl", ROOT / "models" / "embedded", settings, "cpu")
    result = run(*map(str, words))
    assert result.returncode != 0
    assert "nothing.jsonl" in result.stderr, result.stderr
