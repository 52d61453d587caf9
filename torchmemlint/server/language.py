"""The language server: what the editor says is turned into questions to the projects, one at a time."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH119

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from torchmemlint import __version__
from torchmemlint.config import ConfigError
from torchmemlint.engine import CALM
from torchmemlint.files import special
from torchmemlint.findings import Diagnostic
from torchmemlint.server import protocol
from torchmemlint.server.projects import Projects, Wishes, source_of
from torchmemlint.server.protocol import Translator
from torchmemlint.source import Source, SourceError

T = TypeVar("T")
PAUSE = 0.005  # seconds after a change in which the next one replaces it
SETTINGS = ("pyproject.toml", "torchmemlint.toml", ".gitignore")


class Answer(NamedTuple):
    """The findings in a version of a document."""

    version: int | None
    source: Source
    found: list[Diagnostic]


class Server(LanguageServer):
    """All state; every question to the projects runs on one thread, in order, so that a stale one can be dropped."""

    def __init__(self) -> None:
        super().__init__("torchmemlint", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.projects = Projects()
        self.worker = ThreadPoolExecutor(1, "analysis")
        self.answers: dict[str, Answer] = {}  # another dictionary after each change: findings depend on other documents
        self.edited: dict[str, str] = {}  # path -> text of the open documents
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, question: Callable[..., T], *arguments: Any) -> T:
        """Run a question on the analysis thread; one that is cancelled before it begins is never run."""
        return await asyncio.get_running_loop().run_in_executor(self.worker, question, *arguments)

    @property
    def pulls(self) -> bool:
        """Does the client ask for diagnostics itself?"""
        document = self.client_capabilities.text_document
        return bool(document and document.diagnostic)

    async def answer(self, uri: str) -> Answer:
        """The findings in a document as it is now. A settings file that can't be used is said once."""
        document, answers = self.workspace.get_text_document(uri), self.answers
        known = answers.get(uri)
        if known and known.version == document.version:
            return known
        path, text, version = path_of(uri), document.source, document.version
        try:
            source, found = await self.ask(self._check, path, text)
        except ConfigError as error:
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"torchmemlint: {error}"))
            source, found = Source(path, text.encode("utf-8", "replace")), []
        answer = answers[uri] = Answer(version, source, found)
        return answer

    def _check(self, path: str, text: str) -> tuple[Source, list[Diagnostic]]:
        try:
            source = source_of(path, text)
        except SourceError as error:
            found = [special(path, "TML000", error.message, error.row, error.column)]
            return Source(path, text.encode("utf-8", "replace")), found
        project = self.projects.of(path)
        for other, its_text in list(self.edited.items()):
            if other != path and self.projects.together(path, other):
                project.take(other, its_text)
        return source, project.check(source)

    def translator(self, answer: Answer) -> Translator:
        """Places of the document as this client counts them."""
        encoding = self.workspace.position_encoding
        return Translator(answer.source, str(getattr(encoding, "value", encoding)))

    async def diagnostics(self, uri: str) -> list[lsp.Diagnostic]:
        """The findings as the protocol has them."""
        answer = await self.answer(uri)
        return [self.translator(answer).diagnostic(d) for d in answer.found]

    def push(self, uri: str, pause: float = 0.0) -> None:
        """Publish a document's findings soon, unless the client pulls; a later change replaces this one."""
        if self.pulls or not concerns(uri):
            return
        if (old := self.tasks.pop(uri, None)) is not None:
            old.cancel()
        self.tasks[uri] = asyncio.get_running_loop().create_task(self._publish(uri, pause))

    async def _publish(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        version = self.workspace.get_text_document(uri).version
        shown = await self.diagnostics(uri)
        if path_of(uri) in self.edited and self.workspace.get_text_document(uri).version == version:
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown, version))

    def edit(self, uri: str) -> None:
        """A document has another text: what was found in any of them is no longer sure."""
        if not concerns(uri):
            return
        self.answers = {}
        self.edited[path_of(uri)] = self.workspace.get_text_document(uri).source

    async def renew(self, question: Callable[..., Any], *arguments: Any) -> None:
        """After this change of the projects nothing that was found is sure: find it again."""
        self.answers = {}
        await self.ask(question, *arguments)
        workspace = self.client_capabilities.workspace
        if self.pulls and workspace and workspace.diagnostics and workspace.diagnostics.refresh_support:
            self.workspace_diagnostic_refresh(None)
        self.push_all()

    def push_all(self) -> None:
        """Publish the findings of all open documents, unless the client pulls."""
        for document in list(self.workspace.text_documents.values()):  # their keys are spelled in another way
            self.push(document.uri)

    def folders(self) -> None:
        """Take over the editor's folders."""
        names = [path_of(folder) for folder in self.workspace.folders]
        self.projects.folders = names or ([path_of(self.workspace.root_uri)] if self.workspace.root_uri else [])

    def wishes(self, options: Any) -> None:
        """Take over the editor's settings: an object with `config` and `hints`, bare or under `torchmemlint`."""
        options = options.get("torchmemlint", options) if isinstance(options, dict) else {}
        config, hints = (options.get(key) if isinstance(options, dict) else None for key in ("config", "hints"))
        self.projects.wishes = Wishes(
            config if isinstance(config, str) and config else None, hints if isinstance(hints, bool) else None
        )


def path_of(uri: str) -> str:
    """The file that an address names; the address itself for what is no file."""
    return uris.to_fs_path(uri) or uri if uri.startswith("file:") else uri


def concerns(uri: str) -> bool:
    """Is the document Python source that we check?"""
    return not path_of(uri).endswith((".ipynb", ".pyi"))


def make() -> Server:
    """A server with all its features."""
    server = Server()
    _lifecycle(server)
    _documents(server)
    _requests(server)
    return server


def _lifecycle(server: Server) -> None:
    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        server.wishes(params.initialization_options)

    @server.feature(lsp.INITIALIZED)
    async def initialized(params: lsp.InitializedParams) -> None:
        server.folders()
        workspace = server.client_capabilities.workspace
        watching = workspace and workspace.did_change_watched_files
        if watching and watching.dynamic_registration:
            globs = ("**/*.py", *(f"**/{name}" for name in SETTINGS))
            watchers = [lsp.FileSystemWatcher(glob) for glob in globs]
            options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = lsp.Registration("files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await server.client_register_capability_async(lsp.RegistrationParams([registration]))

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders_changed(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        server.folders()
        await server.renew(server.projects.forget)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def settings_changed(params: lsp.DidChangeConfigurationParams) -> None:
        if params.settings:
            server.wishes(params.settings)
        await server.renew(server.projects.forget)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(params: lsp.DidChangeWatchedFilesParams) -> None:
        only_text = all(
            change.type is lsp.FileChangeType.Changed and os.path.basename(path_of(change.uri)) not in SETTINGS
            for change in params.changes
        )
        paths = [path_of(change.uri) for change in params.changes]
        await (server.renew(server.projects.reread, paths) if only_text else server.renew(server.projects.forget))


def _documents(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.edit(params.text_document.uri)
        server.push(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.edit(params.text_document.uri)
        server.push(params.text_document.uri, PAUSE)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        server.push_all()

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.answers = {}
        server.edited.pop(path_of(uri), None)
        if (task := server.tasks.pop(uri, None)) is not None:
            task.cancel()
        await server.ask(server.projects.forget, path_of(uri))
        if not server.pulls:
            server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _requests(server: Server) -> None:
    options = lsp.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=False, identifier="torchmemlint"
    )

    @server.feature(lsp.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def pulled(params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
        uri = params.text_document.uri
        shown = await server.diagnostics(uri) if concerns(uri) else []
        mark = hashlib.sha256(repr(shown).encode("utf-8", "replace")).hexdigest()[:16]
        if params.previous_result_id == mark:
            return lsp.RelatedUnchangedDocumentDiagnosticReport(mark)
        return lsp.RelatedFullDocumentDiagnosticReport(shown, result_id=mark)

    kinds: list[lsp.CodeActionKind | str] = [lsp.CodeActionKind.QuickFix, protocol.FIX_ALL]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(kinds))
    async def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri, only = params.text_document.uri, params.context.only
        if not concerns(uri):
            return []
        answer = await server.answer(uri)
        translator, result = server.translator(answer), []
        if _wanted(only, lsp.CodeActionKind.QuickFix.value):
            result += protocol.actions(answer.found, params.range, uri, answer.version, translator)
        if _wanted(only, protocol.FIX_ALL) and any(d.fix and d.fix.safe for d in answer.found):
            result += await _fix_all(server, uri, answer)
        return result

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        uri = params.text_document.uri
        if not concerns(uri):
            return None
        answer = await server.answer(uri)
        return protocol.hover(answer.found, params.position, server.translator(answer))


def _wanted(only: Any, kind: str) -> bool:
    """Does the client ask for this kind of action? It may name a kind above it."""
    names = [str(getattr(k, "value", k)) for k in only or ()]
    return not names or any(kind == name or kind.startswith(f"{name}.") for name in names)


async def _fix_all(server: Server, uri: str, answer: Answer) -> list[lsp.CodeAction]:
    def mended() -> Source:
        project = server.projects.of(answer.source.path)
        return project.mended(answer.source, project.config.unsafe_fixes)

    edits = server.translator(answer).changes((await server.ask(mended)).data)
    return [protocol.fix_all(uri, answer.version, edits)] if edits else []


def start() -> None:
    """Serve on standard input and output until the editor says to end."""
    gc.freeze()  # what is loaded stays
    gc.set_threshold(*CALM)  # else each answer ends in a collection of all that it made, a third of its time
    make().start_io()
