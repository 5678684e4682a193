# ruff: noqa: PTH118, PTH120
# Paths are strings here, as in discover.
"""Which kustomizations are built: those that matter, and are not part of another one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from kube_gaplint import disk, lazy_re
from kube_gaplint.discover import Candidate, FileId, interest_of, read_file, speaks_of_training, within
from kube_gaplint.facts.candidates import KUSTOMIZATION_NAMES
from kube_gaplint.text.nodes import Document

_PATH = lazy_re.compile(rb"[^\s\"',\[\]{}=]+")
_MOST_PATHS = 2000
_MOST_LOOKED_AT = 2000
_ORDERED_NAMES = sorted(KUSTOMIZATION_NAMES, key=lambda name: (name == "Kustomization", name))


class Kustomizations:
    """The kustomizations among the candidates, and how they include one another.

    A monorepo has thousands of them, nearly all for other things. So relevance is told from bytes: a kustomization
    matters if it holds a word of training, names a judged file, or names another kustomization that matters.
    """

    def __init__(self, candidates: list[tuple[int, Candidate]], judged: set[str], roots: tuple[str, ...] = ()) -> None:
        self._given: dict[str, tuple[int, Candidate]] = {}
        for order, candidate in candidates:
            other = self._given.get(candidate.file.folder)
            if other is None or _rank(candidate) < _rank(other[1]):
                self._given[candidate.file.folder] = (order, candidate)
        self._judged = judged
        self._roots = roots
        self._all = candidates
        self._relevant = self._closure()

    def relevant(self) -> list[tuple[int, Candidate]]:
        """Those that matter, in order."""
        return [(order, candidate) for order, candidate in self._all if candidate.file.folder in self._relevant]

    def irrelevant(self) -> Iterator[Candidate]:
        return (candidate for _, candidate in self._all if candidate.file.folder not in self._relevant)

    def roots(
        self, relevant: Iterable[tuple[int, Candidate]], document_of: Callable[[Candidate], Document | None]
    ) -> list[tuple[int, Candidate]]:
        """Those of the relevant ones that no other takes in. Where they include one another, the first is a root."""
        from kube_gaplint.bundle.kustomize import included_paths, is_kustomization

        includes: dict[str, set[str]] = {}
        own = {folder: pair for folder, pair in self._given.items() if folder in self._relevant}
        usable: list[tuple[int, Candidate]] = []
        for order, candidate in relevant:
            document = document_of(candidate)
            if (
                own[candidate.file.folder][1] is not candidate
                or document is None
                or not is_kustomization(document.root)
            ):
                continue
            usable.append((order, candidate))
            found = includes.setdefault(candidate.file.folder, set())
            for key, path in included_paths(document.root):
                if key in ("resources", "bases", "components"):
                    target = candidate.file.beside(path)
                    if target is not None:
                        found.add(target.path)
        included = set().union(*includes.values()) if includes else set()
        roots = [(order, candidate) for order, candidate in usable if candidate.file.folder not in included]
        covered = _reachable(includes, (candidate.file.folder for _, candidate in roots))
        for order, candidate in usable:  # rings: nothing outside includes them
            if candidate.file.folder not in covered:
                roots.append((order, candidate))
                covered |= _reachable(includes, (candidate.file.folder,))
        return roots

    def around(self, named: Iterable[FileId]) -> Iterator[FileId]:
        """Kustomizations outside of the given paths that name one of the named files, nearest first."""
        known: dict[str, tuple[FileId, bytes] | None] = {}
        taken: set[str] = set()
        for file in named:
            word = file.path.rpartition("/")[2].encode("utf-8", "surrogateescape")
            folder = FileId(os.path.dirname(file.shown), file.folder, file.root, given=False)
            while within(folder.path, file.root):
                if folder.path not in known:
                    known[folder.path] = None if folder.path in self._given else self._kustomization(folder)
                found = known[folder.path]
                if found is not None and word in found[1]:
                    if folder.path not in taken:
                        taken.add(folder.path)
                        yield found[0]
                    break
                parent = os.path.dirname(folder.path)
                if parent == folder.path:
                    break
                shown = os.path.normpath(os.path.join(folder.shown or ".", ".."))
                folder = FileId("" if shown == "." else shown, parent, file.root, given=False)

    def _kustomization(self, folder: FileId) -> tuple[FileId, bytes] | None:
        file = self.file_in(folder)
        data = None if file is None else read_file(file)
        return None if file is None or data is None else (file, data)

    @staticmethod
    def file_in(folder: FileId) -> FileId | None:
        """The kustomization file in a folder."""
        for name in _ORDERED_NAMES:
            path = os.path.join(folder.path, name)
            if disk.is_file(path):
                real = disk.real(path)
                shown = os.path.join(folder.shown, name) if folder.shown else name
                return FileId(shown, path, folder.root, folder.given) if within(real, folder.root) else None
        return None

    # Relevance

    def _closure(self) -> set[str]:
        """The folders of all kustomizations that matter."""
        names: dict[str, set[str]] = {}
        relevant: set[str] = set()
        pending = [(folder, candidate.file, candidate.data) for folder, (_, candidate) in self._given.items()]
        looked_at = 0
        while pending:
            folder, file, data = pending.pop()
            if folder in names:
                continue
            names[folder] = set()
            given = self._given.get(folder)
            if (given is not None and given[1].named) or speaks_of_training(data):
                relevant.add(folder)
            for path in _paths(data, folder):
                if path in self._judged:
                    relevant.add(folder)
                elif path in self._given:
                    names[folder].add(path)
                elif not self._is_known(path) and within(path, file.root) and looked_at < _MOST_LOOKED_AT:
                    looked_at += 1
                    outside = FileId("", path, file.root, given=False)
                    found = self.file_in(outside) if disk.is_folder(path) else None
                    content = read_file(found or outside)
                    if content is None:
                        continue
                    if found is not None:
                        names[folder].add(path)
                        pending.append((path, found, content))
                    elif interest_of(content) == "judged":
                        relevant.add(folder)
        users: dict[str, list[str]] = {}
        for folder, targets in names.items():
            for target in targets:
                users.setdefault(target, []).append(folder)
        queue = list(relevant)
        while queue:
            for user in users.get(queue.pop(), ()):
                if user not in relevant:
                    relevant.add(user)
                    queue.append(user)
        return relevant

    def _is_known(self, path: str) -> bool:
        """Whether a path lies in a given folder, where everything was looked at already."""
        return any(within(path, folder) for folder in self._roots)


def _rank(candidate: Candidate) -> int:
    name = candidate.file.path.rpartition("/")[2]
    return _ORDERED_NAMES.index(name) if name in _ORDERED_NAMES else len(_ORDERED_NAMES)


def _paths(data: bytes, folder: str) -> set[str]:
    """Everything in the bytes that may be a relative path, as absolute paths."""
    found = set()
    for match in list(_PATH.finditer(data))[:_MOST_PATHS]:
        text = match[0].decode("utf-8", "surrogateescape")
        if "\0" not in text and ":" not in text:
            found.add(os.path.normpath(os.path.join(folder, text)))
    return found


def _reachable(includes: dict[str, set[str]], starts: Iterable[str]) -> set[str]:
    pending = list(starts)
    seen: set[str] = set()
    while pending:
        folder = pending.pop()
        if folder not in seen:
            seen.add(folder)
            pending.extend(includes.get(folder, ()))
    return seen
