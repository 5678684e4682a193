"""`gaplint lsp`, driven by a client as editors have one."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

pytest_lsp = pytest.importorskip("pytest_lsp")
pytest.importorskip("pygls")

from lsprotocol import types  # noqa: E402
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities  # noqa: E402

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


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "kube_gaplint", "lsp"], server_env=dict(os.environ))
)
async def client(lsp_client: LanguageClient):  # type: ignore[no-untyped-def]
    capabilities = client_capabilities("visual-studio-code")
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

    def __init__(self, client: LanguageClient, path: Path) -> None:
        self.client, self.path, self.uri, self.version = client, path, path.as_uri(), 1
        item = types.TextDocumentItem(self.uri, "yaml", 1, path.read_text())
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))

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
        for _ in range(600):
            found = self.client.diagnostics.get(self.uri)
            if found is not None and len(found) == number:
                return list(found)
            await asyncio.sleep(0.1)
        raise AssertionError(f"there are not {number} diagnostics: {self.client.diagnostics.get(self.uri)}")

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
