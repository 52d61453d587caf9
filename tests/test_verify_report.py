"""What `verify` writes: records that keep their schema, comparisons, and a page that needs nothing else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from torchmemlint.verify.cases import Case
from torchmemlint.verify.html import page
from torchmemlint.verify.judge import MIB, Claim, Outcome
from torchmemlint.verify.records import RecordError, as_json, load, problems_of, record, write_record
from torchmemlint.verify.run import Setting, Verified
from torchmemlint.verify.table import markdown, remarks, summary
from torchmemlint.verify.usage import Usage

TEXT = '''"""A list <keeps> & grows."""

EFFECT = "peak"


def helper(x):
    return x < 3


def bad(device, probe):
    return helper(2)


def good(device, probe):
    return 1 < 3
'''
SETTING = Setting("virtual", {"meter": "virtual", "device": "virtual GPU", "torch": "2.13.0", "date": "2026-01-31"})


def outcome(peak: int) -> Outcome:
    usage = Usage([peak // 2], [peak], peak, peak, 3, timeline=[0, peak, peak // 2], marks=[2])
    return Outcome("ok", usage=usage, repeats=(usage,))


def verified(name: str, code: str, bad: int, verdict: str = "confirmed") -> Verified:
    case = Case(Path(f"/somewhere/{code}-rule/{name}.py"), TEXT, code, "peak")
    outcomes = {"bad": outcome(bad), "good": outcome(8 * MIB), "fixed": outcome(8 * MIB)}
    return Verified(case, "virtual", outcomes, (Claim("effect", verdict, "so & so"),), fixed_text=TEXT)


RESULTS = [
    verified("small", "TML301", 16 * MIB),
    verified("large", "TML301", 40 * MIB),
    verified("wrong", "TML302", 90 * MIB, "refuted"),
    Verified(Case(Path("/x/own.py"), TEXT, device="cuda"), note="only a GPU can show this"),
]


CASE = {"code": "", "effect": "", "meter": "cuda", "verdict": "confirmed", "claims": []}


def test_a_record_says_what_each_rule_costs_at_most() -> None:
    kept = record(as_json(RESULTS, SETTING))
    assert list(problems_of(kept)) == []
    assert kept["TML301"] == {
        "effect": "peak",
        "measured": "peak 40 MiB → 8 MiB (5.00×)",
        "bad_bytes": 40 * MIB,
        "good_bytes": 8 * MIB,
        "fixture": "large",
        "device": "virtual GPU",
        "torch": "2.13.0",
        "date": "2026-01-31",
    }
    assert "TML302" not in kept, "a refuted claim is no figure to quote"
    assert set(kept["cases"]) == {"TML301-rule/small", "TML301-rule/large", "TML302-rule/wrong"}
    assert "timeline" not in json.dumps(kept)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = write_record(as_json(RESULTS, SETTING), str(tmp_path))
    assert path.name == "virtual-gpu-torch-2.13.0.json"
    assert load(str(path)) == record(as_json(RESULTS, SETTING))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": 2}, "format is 2"),
        ({"environment": None}, "environment is no object"),
        ({"environment": {"meter": "cpu"}}, "environment: device is None"),
        ({"cases": []}, "cases is no object"),
        ({"cases": {"a": {}}}, "a: code is None"),
        ({"cases": {"a": {**CASE, "verdict": "perhaps"}}}, "a: there is no verdict 'perhaps'"),
        ({"cases": {"a": {**CASE, "figures": {}}}}, "a: figures is no object"),
        ({"cases": {"a": {**CASE, "figures": {"b": {"measured": 1}}}}}, "a, b: claimed is None"),
        ({"cases": {"a": {**CASE, "figures": {"b": {"claimed": "1x", "measured": "2"}}}}}, "b: measured is '2'"),
        ({"cases": {"a": CASE}}, "a, bad is no object"),
        ({"environment": {**SETTING.environment, "meter": "cuda"}}, "environment: driver is None"),
    ],
)
def test_broken_records_are_told(change: dict[str, Any], problem: str, tmp_path: Path) -> None:
    broken = {**record(as_json(RESULTS, SETTING)), **change}
    assert any(problem in line for line in problems_of(broken))
    (tmp_path / "broken.json").write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(RecordError, match="is not a record"):
        load(str(tmp_path / "broken.json"))


def test_the_records_of_the_package_keep_the_schema() -> None:
    folder = Path(__file__).parent.parent / "torchmemlint" / "verify" / "records"
    for path in folder.glob("*.json"):
        kept = load(str(path))
        assert all(kept[code]["measured"] for code in kept if re.fullmatch("TML[0-9]{3}", code))


class _Page(HTMLParser):
    """Collects tags that are not closed, what is loaded from elsewhere, and all ids and links."""

    VOID = frozenset("meta link img br hr input".split())

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("script", "link", "img", "iframe") or "src" in values:
            self.loaded.append(tag)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links += [values["href"] or ""] if "href" in values else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open[-1] in ("li", "p") and self.open[-1] != tag:
            self.open.pop()
        assert self.open, tag
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else() -> None:
    text = page(RESULTS, SETTING)
    seen = _Page()
    seen.feed(text)
    assert seen.open == []
    assert seen.loaded == []
    assert "http" not in text
    assert len(seen.ids) == len(set(seen.ids)) == len(RESULTS)
    assert [link.removeprefix("#") for link in seen.links] == seen.ids
    assert "A list &lt;keeps&gt; &amp; grows." in text
    assert text.count("<svg") == 3
    assert "prefers-color-scheme: dark" in text
    assert "<mark>" in text


def test_remarks_and_totals() -> None:
    assert list(remarks(RESULTS[2])) == ["effect refuted: so & so"]
    assert list(remarks(RESULTS[3])) == ["only a GPU can show this"]
    assert summary(RESULTS) == "4 cases: 2 confirmed, 1 refuted, 1 skipped"
    table = markdown(RESULTS, SETTING)
    assert "| TML301-rule/large | peak | peak 40 MiB → 8 MiB (5.00×) |" in table


def test_a_part_measured_again_is_renewed_in_the_record(tmp_path: Path) -> None:
    path = write_record(as_json(RESULTS, SETTING), str(tmp_path))
    later = Setting("virtual", {**SETTING.environment, "date": "2026-02-01"})
    again = [verified("large", "TML301", 80 * MIB)]
    assert write_record(as_json(again, later), str(tmp_path), part=True) == path
    kept = load(str(path))
    assert set(kept["cases"]) == {"TML301-rule/small", "TML301-rule/large", "TML302-rule/wrong"}
    assert [kept["cases"][f"TML301-rule/{name}"]["date"] for name in ("small", "large")] == ["2026-01-31", "2026-02-01"]
    assert (kept["TML301"]["bad_bytes"], kept["TML301"]["date"]) == (80 * MIB, "2026-02-01")
    assert kept["environment"]["date"] == "2026-02-01"
    write_record(as_json(again, later), str(tmp_path))
    assert set(load(str(path))["cases"]) == {"TML301-rule/large"}


def test_explain_and_the_json_report_quote_the_record() -> None:
    from click.testing import CliRunner

    from torchmemlint.cli import main
    from torchmemlint.report.json import impact

    folder = Path(__file__).parent.parent / "torchmemlint" / "verify" / "records"
    (kept,) = (load(str(path)) for path in folder.glob("*.json"))
    assert impact("TML101") == kept["TML101"]
    assert impact("TML999") is None
    shown = CliRunner().invoke(main, ["explain", "TML101"]).output
    assert f"measured: {kept['TML101']['measured']}\n" in shown
    assert "_bytes" not in shown
