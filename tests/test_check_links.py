"""scripts/check_links.py finds links of a page that lead nowhere, and only those."""

import sys

from command import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import check_links  # noqa: E402


def test_links_that_lead_nowhere_are_found_with_their_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(check_links, "ROOT", tmp_path)
    (tmp_path / "other.md").write_text("# What `x()` does, and why\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text("""# Page

[there](other.md) and [its heading](other.md#what-x-does-and-why), [a second](other.md#twice-1), [here](#page).
[elsewhere](https://example.org/none.md), `[code](none.md)`, <!-- [comment](none.md) -->

```
[code](none.md)
```

[two
lines](none.md)
[no such heading](other.md#thrice), [nor this](other.md#no-heading), [nor here](#nope)
[outside](../outside.md)
""")
    (tmp_path.parent / "outside.md").write_text("")
    assert list(check_links.complaints(page)) == [
        (11, "there is no none.md"),
        (12, "other.md has no heading #thrice"),
        (12, "other.md has no heading #no-heading"),
        (12, "this page has no heading #nope"),
        (13, "there is no ../outside.md"),
    ]


def test_paths_in_code_of_pages_and_in_comments_are_there(tmp_path):
    there = check_links.known(["src/ops/operator.h", "worker/tape.py"])
    page, source = tmp_path / "page.md", tmp_path / "x.cc"
    page.write_text("""src/none.h is no code; `src/ops/operator.h`, `src/ops/operator`, `src/ops/`, `operator.h`
`python worker/tape.py`, `worker/NAME.py`, `src/*/x_test.cc`, `optimized.py`
`src/operator.h`, `python worker/tapes.py --all`, `operators.h`
""")
    source.write_text('#include "worker/none.h"  // src/ops/operator.h\n// (worker/tapes.py).\n')
    assert list(check_links.lost_paths(page, there)) == [
        (3, "there is no src/operator.h"),
        (3, "there is no worker/tapes.py"),
        (3, "there is no operators.h"),
    ]
    assert list(check_links.lost_paths(source, there)) == [(2, "there is no worker/tapes.py")]
