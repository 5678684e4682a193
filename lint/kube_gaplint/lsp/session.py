"""What an editor has open, and what gaplint says to it. Knows nothing of the protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import date

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import baseline, config, discover, disk, engine, fix
from kube_gaplint.engine import Request
from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.given import Given, around

REASON = "to be written: why this may stay"
"""The reason of a suppression that the editor writes; a person replaces it."""

PROBLEMS = (config.ConfigProblem, engine.UsageProblem, baseline.BaselineProblem)
"""What `judge` and `edit` raise where a run is not possible; the message is for the user."""


class Session(Struct):
    """The open documents by real path, with texts that may not be saved yet; and the folders of the workspace."""

    texts: dict[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    def judge(self) -> dict[str, list[Finding]]:
        """The findings that the open documents have a part in, by the real path of the file that each stands in.

        Every open document has an entry. What a document refers to is read. Raises PROBLEMS.
        """
        found: dict[str, list[Finding]] = {path: [] for path in self.texts}
        by_repository: dict[str, list[str]] = {}
        for path in self.texts:
            by_repository.setdefault(around([path], self.folders)[0], []).append(path)
        with self._overlay({}):
            for paths in by_repository.values():
                request = replace(self._request(paths), changed=Given.of(paths))
                for finding in engine.lint(request).findings:
                    if finding.suppressed is None:
                        found.setdefault(disk.real(finding.place.source.path), []).append(finding)
        return found

    def edit(self, finding: Finding, *, suppress: bool) -> dict[str, tuple[str, str]]:
        """The change that fixes or suppresses a finding: old and new text by real path. Raises PROBLEMS."""
        request = self._request([finding.place.source.path])
        whole = replace(request, select=(), min_severity=min(Severity), baseline=None)

        def findings(texts: Mapping[str, str]) -> list[Finding]:
            with self._overlay({disk.real(path): text for path, text in texts.items()}):
                report: Report = engine.lint(whole)
            return report.findings

        wanted = {finding.fingerprint}
        if suppress:
            changes = fix.add_suppressions(wanted, findings, REASON).changes
        else:
            changes = fix.repair(wanted, findings, unsafe=True, codes=engine.selected_codes(request)).changes
        return {disk.real(change.path): (change.source.text, change.new_text) for change in changes}

    def _overlay(self, further: Mapping[str, str]) -> AbstractContextManager[None]:
        texts = {**self.texts, **further}
        return disk.reading_instead({path: text.encode("utf-8", "replace") for path, text in texts.items()})

    def _request(self, paths: list[str]) -> Request:
        """The request of a run over the repository around some files, with its configuration."""
        folders = tuple(around(paths, self.folders))
        settings = config.load(folders)
        accepted = None
        if settings.baseline:
            accepted = baseline.read(os.path.join(settings.folder, settings.baseline))  # noqa: PTH118
        return Request(
            paths=folders,
            select=settings.select,
            ignore=settings.ignore,
            min_severity=Severity.parse(settings.min_severity or "warning"),
            profile=settings.profile,
            kinds=settings.kinds,
            severities=settings.severities(),
            file_ignores=settings.file_ignores(),
            baseline=accepted,
            exclude=(discover.Exclusion(settings.exclude, settings.folder),) if settings.exclude else (),
            today=date.today(),
        )
