"""`gaplint lsp`, driven by a client as editors have one."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

pytest_lsp = pytest.importorskip("pytest_lsp")
pytest.importorskip("pygls")

from lsprotocol import types  # noqa: E402
from pygls.workspace import Workspace  # noqa: E402
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities  # noqa: E402

from kube_gaplint.findings import Finding  # noqa: E402
from kube_gaplint.lsp import server  # noqa: E402
from kube_gaplint.lsp.server import Server  # noqa: E402
from kube_gaplint.lsp.session import Session  # noqa: E402

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: pretrain
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
            command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
            envFrom:
            - configMapRef: {name: nccl}
            resources:
              limits: {nvidia.com/gpu: 8}
"""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: nccl}
data:
  NCCL_DEBUG: "äö𝄞"
  TORCH_NCCL_ASYNC_ERROR_HANDLING: "1"
"""
OFF = SETTINGS.replace('HANDLING: "1"', 'HANDLING: "0"')
OLD_JOB = JOB.replace("2.6.0-cuda12.4-cudnn9-devel", "1.12.1-cuda11.3-cudnn8-runtime").replace("torchrun", "python")
"""Asynchronous error handling is off in it unless a variable turns it on."""
OLD_SETTINGS = SETTINGS.replace("TORCH_NCCL", "NCCL")
OLD_UNSET = OLD_SETTINGS.replace("NCCL_ASYNC", "# NCCL_ASYNC")


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "kube_gaplint", "lsp"], server_env=dict(os.environ))
)
async def client(lsp_client: LanguageClient):  # type: ignore[no-untyped-def]
    capabilities = client_capabilities("visual-studio-code")
    lsp_client.watched = []  # type: ignore[attr-defined]

    @lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(_client: LanguageClient, params: types.RegistrationParams) -> None:
        lsp_client.watched += params.registrations  # type: ignore[attr-defined]

    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities))
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gaplint.yaml").write_text("select: [NCCL001]\n")
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "nccl.yaml").write_text(SETTINGS)
    return tmp_path


class Document:
    """A document in the editor."""

    def __init__(self, client: LanguageClient, path: Path, text: str | None = None, *, uri: str = "") -> None:
        self.client, self.path, self.uri, self.version = client, path, uri or path.as_uri(), 1
        item = types.TextDocumentItem(self.uri, "yaml", 1, path.read_text() if text is None else text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def close(self) -> None:
        identifier = types.TextDocumentIdentifier(self.uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))

    def type(self, text: str) -> None:
        self.version += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.version, self.uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def diagnostics(self, number: int) -> list[types.Diagnostic]:
        """The diagnostics, once there are so many."""
        return await diagnostics_of(self.client, self.uri, number)

    async def actions(self, diagnostic: types.Diagnostic) -> list[types.CodeAction]:
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(self.uri), diagnostic.range, types.CodeActionContext([diagnostic])
        )
        return list(await self.client.text_document_code_action_async(params))

    async def after(self, action: types.CodeAction) -> dict[str, str]:
        """The files that an action changes, as they are after it."""
        resolved = await self.client.code_action_resolve_async(action)
        out = {}
        for uri, edits in resolved.edit.changes.items():
            path = self.path.parent / uri.rpartition("/")[2]
            (edit,) = edits
            out[path.name] = _applied(path.read_text(), edit)
        return out


async def diagnostics_of(client: LanguageClient, uri: str, number: int) -> list[types.Diagnostic]:
    for _ in range(600):
        found = client.diagnostics.get(uri)
        if found is not None and len(found) == number:
            return list(found)
        await asyncio.sleep(0.1)
    raise AssertionError(f"there are not {number} diagnostics: {client.diagnostics.get(uri)}")


def _applied(text: str, edit: types.TextEdit) -> str:
    lines = text.splitlines(keepends=True)

    def offset(position: types.Position) -> int:
        before = "".join(lines[: position.line])
        line = lines[position.line] if position.line < len(lines) else ""
        units = line.encode("utf-16-le")[: 2 * position.character]
        return len(before) + len(units.decode("utf-16-le"))

    return text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]


@pytest.mark.asyncio
async def test_a_finding_comes_and_goes_while_typing(client: LanguageClient, repository: Path) -> None:
    settings = Document(client, repository / "nccl.yaml")
    assert await settings.diagnostics(0) == []
    settings.type(OFF)
    (found,) = await settings.diagnostics(1)
    assert found.code == "NCCL001"
    assert found.severity == types.DiagnosticSeverity.Error
    assert (found.range.start.line, found.range.end.line) == (5, 5)
    assert (repository / "nccl.yaml").read_text() == SETTINGS  # it was never saved
    settings.type(SETTINGS)
    assert await settings.diagnostics(0) == []


@pytest.mark.asyncio
async def test_hover_explains_with_the_incident(client: LanguageClient, repository: Path) -> None:
    (repository / "nccl.yaml").write_text(OFF)
    settings = Document(client, repository / "nccl.yaml")
    (found,) = await settings.diagnostics(1)
    identifier = types.TextDocumentIdentifier(settings.uri)
    shown = await client.text_document_hover_async(types.HoverParams(identifier, found.range.start))
    assert "Why it hurts" in shown.contents.value
    assert "IL-" in shown.contents.value
    nothing = await client.text_document_hover_async(types.HoverParams(identifier, types.Position(0, 0)))
    assert nothing is None


@pytest.mark.asyncio
async def test_actions_fix_and_suppress(client: LanguageClient, repository: Path) -> None:
    (repository / "nccl.yaml").write_text(OFF)
    settings = Document(client, repository / "nccl.yaml")
    (found,) = await settings.diagnostics(1)
    fix, suppress = await settings.actions(found)
    changed = await settings.after(fix)
    assert changed
    (name, text) = next(iter(changed.items()))
    document = settings if name == "nccl.yaml" else Document(client, repository / name)
    document.type(text)
    assert await settings.diagnostics(0) == []

    document.type((repository / name).read_text())
    (found,) = await settings.diagnostics(1)
    suppressed = await settings.after(suppress)
    assert "gaplint: ignore[NCCL001]" in suppressed["nccl.yaml"] or "gaplint.dev/ignore" in suppressed["nccl.yaml"]
    settings.type(suppressed["nccl.yaml"])
    assert await settings.diagnostics(0) == []


@pytest.mark.asyncio
async def test_a_change_of_settings_shows_in_the_job(client: LanguageClient, repository: Path) -> None:
    (repository / "job.yaml").write_text(OLD_JOB)
    (repository / "nccl.yaml").write_text(OLD_SETTINGS)
    job, settings = Document(client, repository / "job.yaml"), Document(client, repository / "nccl.yaml")
    assert await job.diagnostics(0) == []
    settings.type(OLD_UNSET)
    (found,) = await job.diagnostics(1)
    assert found.code == "NCCL001"
    settings.type(OLD_SETTINGS)
    assert await job.diagnostics(0) == []


@pytest.mark.asyncio
async def test_a_change_on_the_disk_shows_in_the_job(client: LanguageClient, repository: Path) -> None:
    (repository / "job.yaml").write_text(OLD_JOB)
    (repository / "nccl.yaml").write_text(OLD_SETTINGS)
    job = Document(client, repository / "job.yaml")
    assert await job.diagnostics(0) == []
    (watch,) = client.watched  # type: ignore[attr-defined]
    assert watch.method == types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    (repository / "nccl.yaml").write_text(OLD_UNSET)
    event = types.FileEvent((repository / "nccl.yaml").as_uri(), types.FileChangeType.Changed)
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    await job.diagnostics(1)


@pytest.mark.asyncio
async def test_what_a_job_takes_from_another_file_is_shown_there(client: LanguageClient, repository: Path) -> None:
    (repository / "nccl.yaml").write_text(OFF)
    job, elsewhere = Document(client, repository / "job.yaml"), (repository / "nccl.yaml").as_uri()
    assert await job.diagnostics(0) == []
    await diagnostics_of(client, elsewhere, 1)
    job.close()
    await diagnostics_of(client, elsewhere, 0)


@pytest.mark.asyncio
async def test_a_file_that_is_not_saved_yet(client: LanguageClient, repository: Path) -> None:
    (repository / "nccl.yaml").write_text(OFF)
    (repository / "job.yaml").unlink()
    await Document(client, repository / "new" / "job.yaml", JOB).diagnostics(0)
    await diagnostics_of(client, (repository / "nccl.yaml").as_uri(), 1)
    assert not (repository / "new").exists()


@pytest.mark.asyncio
async def test_a_document_is_called_as_the_editor_calls_it(client: LanguageClient, repository: Path) -> None:
    (repository / "nccl.yaml").write_text(OFF)
    (repository.parent / "link").symlink_to(repository)
    uri = (repository.parent / "link" / "nccl.yaml").as_uri().replace("nccl", "nc%63l")
    settings = Document(client, repository / "nccl.yaml", uri=uri)
    (found,) = await settings.diagnostics(1)
    (_, suppress) = await settings.actions(found)
    assert [*(await client.code_action_resolve_async(suppress)).edit.changes] == [uri]


@pytest.mark.asyncio
async def test_documents_that_are_no_files_and_files_that_are_too_large(
    client: LanguageClient, repository: Path
) -> None:
    unsaved = Document(client, repository, OFF, uri="untitled:Untitled-1")
    odd = Document(client, repository, OFF, uri="git:/job.yaml?{%22ref%22:%22~%22}")
    large = Document(client, repository / "large.yaml", "a: 1\n" * 2_500_000)
    for document in (unsaved, odd):
        document.type(SETTINGS)
        identifier = types.TextDocumentIdentifier(document.uri)
        start = types.Position(0, 0)
        assert await client.text_document_hover_async(types.HoverParams(identifier, start)) is None
        params = types.CodeActionParams(identifier, types.Range(start, start), types.CodeActionContext([]))
        assert not await client.text_document_code_action_async(params)
        document.close()
    assert all(found.code.startswith("GAP") for found in client.diagnostics.get(large.uri, ()))
    large.close()
    await Document(client, repository / "nccl.yaml", OFF).diagnostics(1)
    assert not client.diagnostics.get(unsaved.uri)


@pytest.mark.asyncio
async def test_only_the_kinds_of_actions_that_are_asked_for(client: LanguageClient, repository: Path) -> None:
    settings = Document(client, repository / "nccl.yaml", OFF)
    (found,) = await settings.diagnostics(1)

    async def asked(kind: str) -> int:
        context = types.CodeActionContext([found], only=[kind])
        params = types.CodeActionParams(types.TextDocumentIdentifier(settings.uri), found.range, context)
        return len(await client.text_document_code_action_async(params))

    assert [await asked(kind) for kind in ("quickfix", "", "source.organizeImports")] == [2, 2, 0]


@pytest.mark.asyncio
async def test_a_wrong_configuration_is_told(client: LanguageClient, repository: Path) -> None:
    (repository / ".gaplint.yaml").write_text("selct: [NCCL001]\n")
    Document(client, repository / "nccl.yaml")
    await asyncio.wait_for(client.wait_for_notification("window/showMessage"), 60)
    assert "selct" in client.messages[0].message


def test_the_page_has_files_that_parse() -> None:
    import re
    import tomllib

    page = (Path(__file__).parents[2] / "docs" / "editors.md").read_text()
    (helix,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert tomllib.loads(helix)["language-server"]["gaplint"] == {"command": "gaplint", "args": ["lsp"]}


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import importlib.util

    from kube_gaplint.cli.app import run

    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert run(["lsp"]) == 2
    assert "kube-gaplint[lsp]" in capsys.readouterr().err


class Recorder(Server):
    """A server without an editor: what it would say is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.shown: dict[str, int] = {}
        self.protocol._workspace = Workspace(None)

    def window_show_message(self, params: types.ShowMessageParams) -> None:
        self.said.append(params.message)

    def text_document_publish_diagnostics(self, params: types.PublishDiagnosticsParams) -> None:
        self.shown[params.uri] = len(params.diagnostics)


@pytest.mark.asyncio
async def test_one_run_at_a_time_and_the_last_text_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    running, most, judged = 0, 0, []

    def judge(session: Session) -> dict[str, list[Finding]]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        judged.append(session.texts["a"])
        time.sleep(0.05)
        running -= 1
        return {"a": []}

    monkeypatch.setattr(Session, "judge", judge)
    monkeypatch.setattr(server, "_PAUSE", 0.0)
    recorder = Recorder()
    for number in range(50):
        recorder.session.texts["a"] = str(number)
        recorder.judge_soon()
        await asyncio.sleep(0.01)
    while not recorder.shown or recorder._changed.is_set():
        await asyncio.sleep(0.01)
    assert (most, judged[-1]) == (1, "49")
    assert len(judged) < 50


@pytest.mark.asyncio
async def test_a_failure_is_told_once_and_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Exception | None] = [ValueError("x"), ValueError("x"), None, ValueError("x"), None]

    def judge(_session: Session) -> dict[str, list[Finding]]:
        answer = answers.pop(0)
        if answer is not None:
            raise answer
        return {}

    monkeypatch.setattr(Session, "judge", judge)
    monkeypatch.setattr(server, "_PAUSE", 0.0)
    recorder = Recorder()
    while answers:
        left = len(answers)
        recorder.judge_soon()
        while len(answers) == left:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
    assert len(recorder.said) == 2
    assert "please report it" in recorder.said[0]
