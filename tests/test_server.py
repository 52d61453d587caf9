"""The language server, spoken to over stdio by a real client."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_client import Client

pytest.importorskip("pygls")

KEPT = """\
import torch
from torch import nn


def validate(loader, device):
    model = nn.Linear(256, 10).to(device)
    losses = []
    for images, labels in loader:
        outputs = model(images)
        losses.append(nn.functional.cross_entropy(outputs, labels))
    return torch.stack(losses).mean().item()
"""
FIXED = KEPT.replace("labels))", "labels).detach())")
WIDE = KEPT.replace("losses.append(", "losses.append('😀é' and ")
SERVER = [sys.executable, "-m", "torchmemlint", "server"]
PULL = {"textDocument": {"diagnostic": {"dynamicRegistration": False}}, "general": {"positionEncodings": ["utf-8"]}}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """A client that has said hello, in a folder with one file."""
    (tmp_path / "kept.py").write_text(KEPT, encoding="utf-8")
    with Client(SERVER, tmp_path) as started:
        watching = {"didChangeWatchedFiles": {"dynamicRegistration": True}, "workspaceFolders": True}
        started.initialize(tmp_path, workspace=watching)
        yield started


def codes(found: list[dict[str, Any]]) -> list[str]:
    return [d["code"] for d in found]


def applied(text: str, action: dict[str, Any]) -> str:
    """The text after an action's edits, all on one document; columns in UTF-16 units."""
    (change,) = action["edit"]["documentChanges"]
    lines = [*text.splitlines(keepends=True), ""]

    def offset(position: dict[str, int]) -> int:
        line = lines[position["line"]].encode("utf-16-le")[: 2 * position["character"]].decode("utf-16-le")
        return sum(map(len, lines[: position["line"]])) + len(line)

    for edit in sorted(change["edits"], key=lambda e: offset(e["range"]["start"]), reverse=True):
        text = text[: offset(edit["range"]["start"])] + edit["newText"] + text[offset(edit["range"]["end"]) :]
    return text


def ask_actions(client: Client, uri: str, line: int, only: list[str] | None = None) -> list[dict[str, Any]]:
    at = {"line": line, "character": 12}
    context = {"diagnostics": [], **({"only": only} if only else {})}
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": context}
    found = client.request("textDocument/codeAction", params)
    assert isinstance(found, list)
    return found


def test_diagnostics_follow_the_text(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "kept.py")
    (found,) = client.diagnostics(uri)
    assert (found["code"], found["severity"], found["source"]) == ("TML101", 1, "torchmemlint")
    assert found["range"] == {"start": {"line": 9, "character": 8}, "end": {"line": 9, "character": 67}}
    assert [r["location"]["uri"] for r in found["relatedInformation"]] == [uri] * len(found["relatedInformation"])
    client.change(uri, FIXED)
    assert client.diagnostics(uri) == []
    client.change(uri, KEPT + "\ndef f(:\n", 3)
    assert codes(client.diagnostics(uri)) == ["TML000"]
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.diagnostics(uri) == []


def test_columns_are_counted_as_the_client_does(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "kept.py", WIDE)
    (found,) = [d for d in client.diagnostics(uri) if d["code"] == "TML101"]
    line = WIDE.splitlines()[9]
    assert found["range"]["end"]["character"] == len(line.encode("utf-16-le")) // 2


@pytest.mark.parametrize("name", ["a b/kept.py", "größe.py", "100%.py"])
def test_documents_whose_address_needs_quotes(client: Client, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(KEPT, encoding="utf-8")
    uri = client.open(path)
    assert uri != f"file://{path}"
    assert codes(client.diagnostics(uri)) == ["TML101"]
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert codes(client.diagnostics(uri)) == ["TML101"]
    assert applied(KEPT, ask_actions(client, uri, 9)[0]) == FIXED


def test_a_client_that_pulls_is_not_pushed(tmp_path: Path) -> None:
    path = tmp_path / "kept.py"
    path.write_text(WIDE, encoding="utf-8")
    with Client(SERVER, tmp_path) as client:
        capabilities = client.initialize(tmp_path, **PULL)["capabilities"]
        assert capabilities["positionEncoding"] == "utf-8"
        uri = client.open(path)
        report = client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        assert (report["kind"], codes(report["items"])) == ("full", ["TML101"])
        assert report["items"][0]["range"]["end"]["character"] == len(WIDE.splitlines()[9].encode())
        again = {"textDocument": {"uri": uri}, "previousResultId": report["resultId"]}
        assert client.request("textDocument/diagnostic", again) == {"kind": "unchanged", "resultId": report["resultId"]}
        client.change(uri, FIXED)
        assert client.request("textDocument/diagnostic", again)["items"] == []
        assert not [m for m in client.told if m["method"] == "textDocument/publishDiagnostics"]


def test_a_fix_is_offered_and_mends_the_text(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "kept.py")
    fix, suppress, everything = ask_actions(client, uri, 9)
    assert (fix["kind"], fix["isPreferred"], fix["title"][:8]) == ("quickfix", True, "TML101: ")
    assert codes(fix["diagnostics"]) == ["TML101"]
    assert applied(KEPT, fix) == FIXED
    assert applied(KEPT, everything) == FIXED
    noqa = applied(KEPT, suppress)
    assert noqa == KEPT.replace("labels))", "labels))  # noqa: TML101")
    client.change(uri, noqa)
    client.diagnostics(uri)
    assert client.diagnostics(uri) == []


def test_actions_of_one_kind(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "kept.py")
    assert [a["kind"] for a in ask_actions(client, uri, 9, ["source.fixAll"])] == ["source.fixAll.torchmemlint"]
    assert [a["kind"] for a in ask_actions(client, uri, 9, ["quickfix"])] == ["quickfix", "quickfix"]
    assert ask_actions(client, uri, 9, ["refactor"]) == []
    assert [a["kind"] for a in ask_actions(client, uri, 0)] == ["source.fixAll.torchmemlint"]


def test_fix_all_makes_rounds_and_leaves_the_project_alone(client: Client, tmp_path: Path) -> None:
    twice = KEPT + "\n" + KEPT.split("\n\n\n")[1].replace("validate", "test")
    uri = client.open(tmp_path / "kept.py", twice)
    assert codes(client.diagnostics(uri)) == ["TML101", "TML101"]
    (action,) = ask_actions(client, uri, 0)
    assert applied(twice, action) == twice.replace("labels))", "labels).detach())")
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert codes(client.diagnostics(uri)) == ["TML101", "TML101"]


def test_hover_explains(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "kept.py")
    params: dict[str, Any] = {"textDocument": {"uri": uri}, "position": {"line": 9, "character": 20}}
    shown = client.request("textDocument/hover", params)
    assert shown["contents"]["kind"] == "markdown"
    assert shown["contents"]["value"].startswith("**TML101** graph-kept-in-container (error)\n")
    assert "**Why it costs memory.**" in shown["contents"]["value"]
    assert re.search(r"\*\*Measured\.\*\* 24 MiB → 0 B a step \(.*NVIDIA H200", shown["contents"]["value"])
    params["position"]["line"] = 2
    assert client.request("textDocument/hover", params) is None


def test_settings_are_reloaded(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "kept.py")
    assert codes(client.diagnostics(uri)) == ["TML101"]
    (registered,) = [m for m in client.asked if m["method"] == "client/registerCapability"]
    globs = {w["globPattern"] for w in registered["params"]["registrations"][0]["registerOptions"]["watchers"]}
    assert {"**/pyproject.toml", "**/torchmemlint.toml", "**/*.py"} <= globs
    settings = tmp_path / "torchmemlint.toml"

    def changed(text: str) -> list[dict[str, Any]]:
        settings.write_text(text, encoding="utf-8")
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": settings.as_uri(), "type": 2}]})
        return client.diagnostics(uri)

    assert changed('ignore = ["TML1"]\n') == []
    assert changed("hints = [\n") == []
    assert "torchmemlint.toml:1:" in client._wait(lambda m: m["method"] == "window/showMessage")["params"]["message"]
    assert codes(changed("")) == ["TML101"]
    client.notify("workspace/didChangeConfiguration", {"settings": {"torchmemlint": {"config": str(settings)}}})
    assert codes(client.diagnostics(uri)) == ["TML101"]


HELPER = "def forward(model, batch):\n    return model(batch)\n"
USER = """\
import torch
from torch import nn

from helper import forward


def predict(loader):
    model = nn.Linear(256, 256)
    outputs = []
    for batch in loader:
        outputs.append(forward(model, batch))
    return [float(output.detach().sum()) for output in outputs]
"""


def test_files_of_a_folder_are_linked_open_or_not(client: Client, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER, encoding="utf-8")
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    uri = client.open(tmp_path / "user.py")
    assert "TML101" in codes(client.diagnostics(uri))
    helper = client.open(tmp_path / "helper.py", HELPER.replace("model(batch)", "model(batch).item()"))
    client.diagnostics(helper)
    client.change(uri, USER + "\n")
    assert "TML101" not in codes(client.diagnostics(uri))
    client.notify("textDocument/didClose", {"textDocument": {"uri": helper}})
    client.change(uri, USER, 3)
    assert "TML101" in codes(client.diagnostics(uri))


def test_a_change_counts_for_the_other_open_documents(client: Client, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER, encoding="utf-8")
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    user, helper = client.open(tmp_path / "user.py"), client.open(tmp_path / "helper.py")
    assert "TML101" in codes(client.diagnostics(user))
    assert client.diagnostics(helper) == []
    client.change(helper, HELPER.replace("model(batch)", "model(batch).item()"))
    client.diagnostics(helper)
    client.notify("textDocument/didSave", {"textDocument": {"uri": helper}})
    assert "TML101" not in codes(client.diagnostics(user))


def test_a_pull_sees_changes_of_other_documents(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER, encoding="utf-8")
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    with Client(SERVER, tmp_path) as client:
        assert client.initialize(tmp_path, **PULL)["capabilities"]["diagnosticProvider"]["interFileDependencies"]
        user, helper = client.open(tmp_path / "user.py"), client.open(tmp_path / "helper.py")

        def pulled() -> list[str]:
            return codes(client.request("textDocument/diagnostic", {"textDocument": {"uri": user}})["items"])

        assert "TML101" in pulled()
        client.change(helper, HELPER.replace("model(batch)", "model(batch).item()"))
        assert "TML101" not in pulled()
        client.notify("textDocument/didClose", {"textDocument": {"uri": helper}})
        assert "TML101" in pulled()


def test_settings_that_change_make_a_pulling_client_ask_again(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(KEPT, encoding="utf-8")
    with Client(SERVER, tmp_path) as client:
        client.initialize(tmp_path, **PULL, workspace={"diagnostics": {"refreshSupport": True}})
        uri = client.open(tmp_path / "kept.py")
        ask = {"textDocument": {"uri": uri}}
        assert codes(client.request("textDocument/diagnostic", ask)["items"]) == ["TML101"]
        settings = tmp_path / "torchmemlint.toml"
        settings.write_text('ignore = ["TML1"]\n', encoding="utf-8")
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": settings.as_uri(), "type": 1}]})
        assert client.request("textDocument/diagnostic", ask)["items"] == []
        assert "workspace/diagnostic/refresh" in [message["method"] for message in client.asked]


def test_several_folders_each_with_settings(tmp_path: Path) -> None:
    for name, text in (("a", ""), ("b", 'ignore = ["TML1"]\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "torchmemlint.toml").write_text(text, encoding="utf-8")
        (tmp_path / name / "kept.py").write_text(KEPT, encoding="utf-8")
    with Client(SERVER, tmp_path) as client:
        client.initialize(tmp_path / "a", tmp_path / "b")
        a, b = (client.open(tmp_path / name / "kept.py") for name in "ab")
        assert codes(client.diagnostics(a)) == ["TML101"]
        assert client.diagnostics(b) == []
        event = {"added": [], "removed": [{"uri": (tmp_path / "b").as_uri(), "name": "b"}]}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        assert codes(client.diagnostics(a)) == ["TML101"]


def test_excluded_and_unsaved_documents(client: Client, tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "kept.py").write_text(KEPT, encoding="utf-8")
    assert client.diagnostics(client.open(tmp_path / "build" / "kept.py")) == []
    assert codes(client.diagnostics(client.open(tmp_path / "new.py", KEPT))) == ["TML101"]


def test_of_many_changes_only_the_last_counts(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "kept.py")
    assert codes(client.diagnostics(uri)) == ["TML101"]
    for version in range(2, 30):
        client.change(uri, KEPT if version % 2 else KEPT + "\ndef f(:\n", version)
    assert codes(client.diagnostics(uri)) == ["TML101"]
    time.sleep(0.5)
    assert not [m for m in client.told if m["method"] == "textDocument/publishDiagnostics"]


def test_a_cancelled_question_is_answered_at_once(client: Client, tmp_path: Path) -> None:
    body = KEPT.split("\n\n\n")[1]
    long = KEPT + "".join(f"\n\n{body.replace('validate', f'validate_{i}')}" for i in range(300))
    busy, uri = client.open(tmp_path / "long.py", long), client.open(tmp_path / "kept.py")
    at = {"textDocument": {"uri": uri}, "position": {"line": 9, "character": 9}}
    number = client.send("textDocument/hover", at)
    client.notify("$/cancelRequest", {"id": number})
    assert client.answer(number)["error"]["code"] == -32800  # RequestCancelled
    assert not [m for m in client.told if m["params"].get("uri") == busy]  # which is still at work
    assert client.request("textDocument/hover", at)["contents"]["value"].startswith("**TML101**")
    assert len(client.diagnostics(busy)) == 301


def test_without_pygls_the_message_names_the_extra(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "pygls.py").write_text("raise ImportError\n", encoding="utf-8")
    done = subprocess.run(SERVER, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "torchmemlint[server]" in done.stderr
