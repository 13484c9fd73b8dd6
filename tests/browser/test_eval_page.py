"""The page of `kernelwright report` in a browser (`make test-browser`; it needs Chromium)."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from command import run  # noqa: E402

from chromium import NAMES, Page, program  # noqa: E402

EVIL = "</script><script>window.evil = 1</script><img src=x onerror='window.evil = 1'>"


def sample(outcome, reason="", speedup=None):
    interval = speedup and {"estimate": speedup, "lower": 0.95 * speedup, "upper": 1.05 * speedup}
    return {"family": "matmul", "plan": EVIL, "outcome": outcome, "in_full": outcome == "accepted",
            "rejected_at": None if outcome == "accepted" else "correct", "reason": reason,
            "degenerate": False, "same_as": None, "speedup_eager": interval,
            "speedup_compile": None}


def line(model, level, samples):
    outcome = "verified" if any(s["outcome"] == "accepted" for s in samples) else "rejected"
    return {"model": model, "level": level, "outcome": outcome, "reason": "", "files": "one",
            "samples": samples}


LINES = [
    line("level1/softmax.py", "level1", [sample("accepted", speedup=2.5), sample("rejected", "slow and wrong")]),
    line("level1/product.py", "level1", [sample("rejected", "off by a lot")]),
    line("level2/block.py", "level2", [sample("accepted", speedup=0.5)]),
    line("level2/%s.py" % EVIL, "level2", [sample("rejected", EVIL)]),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    assert program(), "none of %s is there (Debian: apt install chromium)" % ", ".join(NAMES)
    folder = tmp_path_factory.mktemp("run")
    first = {"eval": {"flags": {"--samples": ["2"]}, "backend": "cuda", "device": "NVIDIA H200",
                      "policies": [["teacher", "print"]]}}
    (folder / "lines.jsonl").write_text("".join(json.dumps(each) + "\n" for each in [first, *LINES]))
    (folder / "one.reference.py").write_text("import torch\n" + "\n".join("x = %d" % k for k in range(40)))
    (folder / "one.0.py").write_text("import torch\n" + "\n".join("x = %d" % k for k in range(39)) + "\nx = 7\n")
    process = run("report", folder)
    assert process.returncode == 0, process.stderr
    return (folder / "report.html").as_uri()


@pytest.fixture
def page(url):
    with Page(url) as page:
        yield page


VISIBLE = "[...document.querySelectorAll('.model')].filter(m => m.offsetHeight > 0).map(m => " \
          "m.querySelector('summary span:nth-child(2)').textContent)"


def pick(page, name, value):
    page.value("(() => { const s = document.querySelector('select[name=%s]'); s.value = %s;"
               "s.dispatchEvent(new Event('change')); })()" % (name, json.dumps(value)))


def find(page, text):
    page.value("(() => { const f = document.getElementById('find'); f.value = %s;"
               "f.dispatchEvent(new Event('input')); })()" % json.dumps(text))


def test_nothing_is_loaded_nothing_fails_and_no_text_runs(page, url):
    asked = [event["params"]["request"]["url"] for event in page.events
             if event["method"] == "Network.requestWillBeSent"]
    assert asked == [url]
    assert [event for event in page.events if event["method"] in (
        "Runtime.exceptionThrown", "Log.entryAdded")] == []
    assert page.value("typeof window.evil") == "undefined"
    assert page.value("document.querySelectorAll('script').length") == 1
    # The guard itself: what somebody put into the page would not run.
    page.value("(() => { const s = document.createElement('script'); s.textContent = 'window.evil = 2';"
               "document.body.append(s); })()")
    assert page.value("typeof window.evil") == "undefined"


def test_models_are_found_by_words_and_picked(page):
    everything = [each["model"] for each in LINES]
    assert sorted(page.value(VISIBLE)) == sorted(everything)
    find(page, "LOT off")
    assert page.value(VISIBLE) == ["level1/product.py"]
    assert page.value("document.getElementById('shown').textContent") == "1 of 4"
    find(page, "")
    pick(page, "outcome", "=verified")
    assert sorted(page.value(VISIBLE)) == ["level1/softmax.py", "level2/block.py"]
    pick(page, "level", "=level2")
    assert page.value(VISIBLE) == ["level2/block.py"]
    find(page, "softmax")
    assert page.value(VISIBLE) == []
    find(page, "")
    pick(page, "outcome", "")
    pick(page, "level", "")
    assert len(page.value(VISIBLE)) == 4


def test_a_model_opens_to_its_samples_and_differences(page):
    page.value("(() => { const m = [...document.querySelectorAll('.model')].find(m => "
               "m.dataset.text.includes('softmax')); m.id = 'it'; m.querySelector('summary').click(); })()")
    assert page.value("document.querySelectorAll('#it .sample').length") == 2
    assert page.value("document.querySelector('#it .sample').offsetHeight") > 0
    added = page.value("[...document.querySelectorAll('#it .diff .add')].map(e => e.textContent)")
    removed = page.value("[...document.querySelectorAll('#it .diff .remove')].map(e => e.textContent)")
    assert (added, removed) == (["+x = 7\n"], ["-x = 39\n"])
    assert "equal lines" in page.value("document.querySelector('#it .diff .gap').textContent")


def test_bars_lie_where_speedups_are(page):
    """On the side of 1 where they belong, within their boxes."""
    bars = page.value("Object.fromEntries([...document.querySelectorAll('.model')].filter(m => "
                      "m.querySelector('.ratio')).map(m => { const box = m.querySelector('.ratio')"
                      ".getBoundingClientRect(), bar = m.querySelector('.ratio i').getBoundingClientRect();"
                      "return [m.querySelector('summary span:nth-child(2)').textContent, "
                      "[(bar.left - box.left) / box.width, (bar.right - box.left) / box.width]]; }))")
    assert set(bars) == {"level1/softmax.py", "level2/block.py"}
    assert 0.5 < bars["level1/softmax.py"][0] < bars["level1/softmax.py"][1] <= 1
    assert 0 <= bars["level2/block.py"][0] < bars["level2/block.py"][1] < 0.5


def test_the_page_reads_without_scripts(url):
    with Page(url, scripts=False) as page:
        page.call("DOM.enable")
        root = page.call("DOM.getDocument")["root"]["nodeId"]
        found = page.call("DOM.querySelectorAll", nodeId=root, selector=".model:not([hidden])")
        assert len(found["nodeIds"]) == 4
        shown = page.call("DOM.querySelectorAll", nodeId=root, selector=".filters:not([hidden])")
        assert shown["nodeIds"] == []


def test_the_page_is_no_wider_than_the_window(page):
    assert page.value("document.documentElement.scrollWidth <= window.innerWidth")
