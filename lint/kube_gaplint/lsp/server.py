"""The server: tells an editor of findings while a file is edited, explains them, and offers fixes and suppressions."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from kube_gaplint import __version__, disk
from kube_gaplint.findings import Finding
from kube_gaplint.lsp import convert
from kube_gaplint.lsp.session import PROBLEMS, Session

_PAUSE = 0.2
"""Seconds without a key stroke before the files are judged."""
_KINDS = [types.CodeActionKind.QuickFix]
_WATCHED = "**/*.{yaml,yml,json,toml,sbatch,slurm,sh,bash,py,env,conf,cfg,ini,properties}"
"""Files on the disk whose change may matter to an open document."""


class Server(LanguageServer):
    """One editor's server. Judging is done in a thread, one run at a time."""

    def __init__(self) -> None:
        super().__init__("gaplint", __version__)
        self.session = Session()
        self.found: dict[str, list[Finding]] = {}
        self.told = ""
        self._uris: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    def opened(self, uri: str) -> None:
        """Take the text of a document as it is in the editor, and judge."""
        path = _path(uri)
        if path:
            self._uris[path] = uri
            self.session.texts[path] = self.workspace.get_text_document(uri).source
            self.judge_soon()

    def closed(self, uri: str) -> None:
        path = _path(uri)
        if path:
            self.session.texts.pop(path, None)
            self.judge_soon()

    def judge_soon(self) -> None:
        roots = (*self.workspace.folders, self.workspace.root_uri or "")
        self.session.folders = tuple(filter(None, map(_path, roots)))
        self._changed.set()
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        """Judge whenever something has changed and nothing more has for a moment."""
        while await self._changed.wait():
            while self._changed.is_set():
                self._changed.clear()
                await asyncio.sleep(_PAUSE)
            session = Session(dict(self.session.texts), self.session.folders)
            try:
                found = await asyncio.to_thread(session.judge)
            except PROBLEMS as problem:
                self.tell(str(problem))
            except Exception as problem:
                logging.getLogger(__name__).exception("judging failed")
                self.tell(f"it failed itself ({type(problem).__name__}); this is a bug, please report it")
            else:
                self.told = ""
                if not self._changed.is_set():
                    self._publish(found)

    def _publish(self, found: dict[str, list[Finding]]) -> None:
        """Show findings, and take away those that were shown."""
        for path in {**self.found, **found}:
            diagnostics = [convert.diagnostic(finding, self.uri_of) for finding in found.get(path, ())]
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri=self.uri_of(path), diagnostics=diagnostics)
            )
        self.found = found

    def uri_of(self, path: str) -> str:
        """What the editor calls a file: the name that it gave to the document, or one made from the real path."""
        real = disk.real(path)
        return self._uris.get(real) or from_fs_path(real) or ""

    def tell(self, message: str) -> None:
        """Show a message, once while the trouble lasts."""
        if message != self.told:
            self.told = message
            params = types.ShowMessageParams(type=types.MessageType.Warning, message=f"gaplint: {message}")
            self.window_show_message(params)

    def at(self, uri: str, span: types.Range) -> list[Finding]:
        """The findings of a document whose place meets a range."""
        found = self.found.get(_path(uri), [])
        return [finding for finding in found if _meet(convert.range_of(finding.place), span)]


def serve() -> None:
    """Serve an editor on standard input and output until it hangs up."""
    server = Server()

    @server.feature(types.INITIALIZED)
    async def ready(ls: Server, _params: types.InitializedParams) -> None:
        workspace = ls.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        if watching and watching.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
            watch = types.Registration("watch", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            with contextlib.suppress(JsonRpcException):  # an editor that does not keep its word loses nothing else
                await ls.client_register_capability_async(types.RegistrationParams([watch]))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def changed_on_disk(ls: Server, _params: types.DidChangeWatchedFilesParams) -> None:
        if ls.session.texts:
            ls.judge_soon()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
        ls.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
        ls.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(ls: Server, _params: types.DidSaveTextDocumentParams) -> None:
        ls.judge_soon()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
        ls.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
        found = ls.at(params.text_document.uri, types.Range(params.position, params.position))
        if not found:
            return None
        text = "\n\n---\n\n".join(convert.hover(finding) for finding in found)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), convert.range_of(found[0].place))

    options = types.CodeActionOptions(code_action_kinds=_KINDS, resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    def actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
        only = params.context.only
        if only is not None and not any(_covers(kind, types.CodeActionKind.QuickFix) for kind in only):
            return []
        uri = params.text_document.uri
        return [action for finding in ls.at(uri, params.range) for action in _actions(ls, uri, finding)]

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(ls: Server, action: types.CodeAction) -> types.CodeAction:
        data = action.data if isinstance(action.data, dict) else {}
        found = ls.found.get(_path(str(data.get("uri", ""))), [])
        finding = next((one for one in found if one.fingerprint == data.get("fingerprint")), None)
        if finding is None:
            return action
        session, suppress = Session(dict(ls.session.texts), ls.session.folders), bool(data.get("suppress"))
        try:
            changes = await asyncio.to_thread(session.edit, finding, suppress=suppress)
        except PROBLEMS as problem:
            ls.tell(str(problem))
            return action
        if not changes:
            ls.tell(f"{finding.code} cannot be changed from here")
        edits = {ls.uri_of(path): [convert.text_edit(*texts)] for path, texts in changes.items()}
        action.edit = types.WorkspaceEdit(changes=edits)
        return action

    server.start_io()


def _actions(ls: Server, uri: str, finding: Finding) -> list[types.CodeAction]:
    """What can be done about a finding. What it changes is worked out when the user chooses it."""
    found = []
    if finding.fix is not None and finding.fixable != "no":
        caution = "" if finding.fixable == "safe" else " (look at the result)"
        found.append((f"{finding.fix.title}{caution}", False))
    found.append((f"Suppress {finding.code} here, with a reason", True))
    return [
        types.CodeAction(
            title=title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[convert.diagnostic(finding, ls.uri_of)],
            is_preferred=not suppress and finding.fixable == "safe",
            data={"uri": uri, "fingerprint": finding.fingerprint, "suppress": suppress},
        )
        for title, suppress in found
    ]


def _path(uri: str) -> str:
    """The real path of a document; empty for one that is no file."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return disk.real(path) if path else ""


def _covers(kind: str, other: str) -> bool:
    """Whether a kind of code action is another, or above it: `refactor` covers `refactor.inline`."""
    return not kind or other == kind or other.startswith(f"{kind}.")


def _meet(one: types.Range, other: types.Range) -> bool:
    def key(position: types.Position) -> tuple[int, int]:
        return position.line, position.character

    return key(one.start) <= key(other.end) and key(other.start) <= key(one.end)
