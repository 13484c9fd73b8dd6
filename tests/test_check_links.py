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
