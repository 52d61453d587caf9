"""SARIF against the schema of its standard, from the real command on the rules' own fixtures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parent.parent
SCHEMA = Path(__file__).parent / "data" / "sarif-2.1.0-rtm.4.json"  # as published for SARIF 2.1.0, unchanged


def sarif(*arguments: str, folder: Path = ROOT) -> Any:
    command = [sys.executable, "-m", "torchmemlint", "check", "--exit-zero", "--output-format", "sarif", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=True)
    return json.loads(done.stdout)


def validate(log: Any) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    errors = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in kind(schema).iter_errors(log)]
    assert errors == []


@pytest.fixture(scope="module")
def log() -> Any:
    return sarif("--select", "ALL", "fixtures")


def test_the_schema_says_no_to_what_is_wrong(log: Any) -> None:
    wrong = json.loads(json.dumps(log))
    wrong["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(AssertionError, match="fatal"):
        validate(wrong)


def test_the_findings_of_all_fixtures_are_valid(log: Any) -> None:
    validate(log)
    (run,) = log["runs"]
    assert len(run["results"]) > 20
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_rules_carry_their_documentation(log: Any) -> None:
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted({result["ruleId"] for result in run["results"]})
    for rule in rules:
        assert "**Why it costs memory.**" in rule["help"]["markdown"] or rule["id"] == "TML001"
        assert len(rule["fullDescription"]["text"]) > 20
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_results_have_fixes_related_places_and_fingerprints(log: Any) -> None:
    results = log["runs"][0]["results"]
    fixed = [r for r in results if "fixes" in r]
    assert fixed
    assert any(r.get("relatedLocations") for r in results)
    replacement = fixed[0]["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert set(replacement) == {"deletedRegion", "insertedContent"}
    marks = [(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], *r["partialFingerprints"].values())
             for r in results]  # fmt: skip
    assert len(marks) == len(set(marks))


def test_fingerprints_survive_moved_lines(tmp_path: Path) -> None:
    source = next((ROOT / "fixtures").glob("TML101-*/list_append.py")).read_text(encoding="utf-8")
    marks = []
    for text in (source, "# one line more\n\n" + source):
        (tmp_path / "a.py").write_text(text, encoding="utf-8")
        marks.append([r["partialFingerprints"] for r in sarif("a.py", folder=tmp_path)["runs"][0]["results"]])
    assert marks[0] == marks[1] != []


def test_odd_files_are_valid_too(tmp_path: Path) -> None:
    (tmp_path / "bad é.py").write_text("import torch\ndef f(:\n", encoding="utf-8")
    (tmp_path / "latin.py").write_bytes(b"import torch\nx = '\xff'\n")
    (tmp_path / "a.ipynb").write_text('{"torch": 1}', encoding="utf-8")
    log = sarif(".", folder=tmp_path)
    validate(log)
    assert [r["ruleId"] for r in log["runs"][0]["results"]] == ["TML000"] * 3
    validate(sarif("latin.py", "--ignore", "TML000", folder=tmp_path))
