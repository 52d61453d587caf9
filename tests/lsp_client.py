"""A language client over stdio, as editors are: starts a server, speaks JSON-RPC, collects what is published."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

SECONDS = 60.0


class Client:
    """A server process and the messages to and from it. Use it in a `with` block."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self.asked: list[dict[str, Any]] = []  # requests of the server, all answered with null
        self.told: list[dict[str, Any]] = []  # notifications of the server
        self.errors = b""
        self.number = 0
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._drain, daemon=True).start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self.process.poll() is None and kind is None:
            self.request("shutdown", None)
            self.notify("exit", None)
            self.process.wait(SECONDS)
        self.process.kill()
        self.process.wait()

    def _drain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            if not length:
                return
            self.messages.put(json.loads(stream.read(length)))

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def send(self, method: str, params: Any) -> int:
        """Send a request without waiting; its number."""
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        return self.number

    def request(self, method: str, params: Any) -> Any:
        """Send a request; its result. Fails on an error."""
        message = self.answer(self.send(method, params))
        assert "error" not in message, message
        return message.get("result")

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to the request `number`."""
        return self._wait(lambda m: m.get("id") == number and "method" not in m)

    def diagnostics(self, uri: str) -> list[dict[str, Any]]:
        """The next diagnostics published for a document."""
        message = self._wait(
            lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri
        )
        found = message["params"]["diagnostics"]
        assert isinstance(found, list)
        return found

    def _wait(self, wanted: Any) -> dict[str, Any]:
        for message in [m for m in self.told if wanted(m)]:
            self.told.remove(message)
            return message
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                message = self.messages.get(timeout=0.2)
            except queue.Empty:
                assert self.process.poll() is None, self.errors.decode()
                continue
            if "id" in message and "method" in message:
                self.asked.append(message)
                self._send({"id": message["id"], "result": None})
            elif wanted(message):
                return message
            else:
                self.told.append(message)
        raise AssertionError(f"no answer; the server said {self.errors.decode()}")

    def initialize(self, *folders: Path, **capabilities: Any) -> Any:
        """The handshake; the server's answer."""
        listed = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        root = folders[0].as_uri() if folders else None
        capabilities.setdefault("workspace", {"workspaceFolders": True})
        params = {"processId": None, "rootUri": root, "workspaceFolders": listed, "capabilities": capabilities}
        result = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def open(self, path: Path, text: str | None = None, language: str = "python") -> str:
        """Open a document; its address."""
        uri = path.as_uri()
        shown = path.read_text(encoding="utf-8") if text is None else text
        document = {"uri": uri, "languageId": language, "version": 1, "text": shown}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def change(self, uri: str, text: str, version: int = 2) -> None:
        """Give a document another text."""
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
