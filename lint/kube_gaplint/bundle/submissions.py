# ruff: noqa: PTH118, PTH120, PTH122
# Paths are strings here, as everywhere in the bundle.
"""How the files around a batch script submit it: `sbatch --array=1-10%1 train.slurm` in a README or a script.

People keep on the command line what changes from one submission to the next, and write it down beside the script. A
command counts where it names the script: by its name in the script's own comments and in files of its folder, by its
path from there in files of folders around it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from msgspec import Struct, field

from kube_gaplint import disk, lazy_re
from kube_gaplint.discover import FileId, read_file, within
from kube_gaplint.text.read import Unreadable, decode
from kube_gaplint.text.source import PlacedText, Source, WholeText

_LEVELS = 3
"""Folders searched: the script's own and two around it (`submit.sh`, `slurm/train/run.sbatch`)."""
_LARGEST = 2**18
_MOST_FILES = 60
_MOST_COMMANDS = 400
_ENDINGS = frozenset({".md", ".rst", ".txt", ".sh", ".bash"})
_NAMES = frozenset({"README", "Makefile", "makefile", "justfile", "Justfile"})
_COMMAND = lazy_re.compile(r"(?<![\w./-])sbatch[ \t]+((?:[^\n\\]|\\(?:\r?\n|.))*)")
_WORD = lazy_re.compile(r"[^\s'\"`;&|()<>]+")
_NO_SCRIPT = lazy_re.compile(r"--wrap\b|<<")


class Submission(Struct, frozen=True):
    """One `sbatch` command: its options stand in `text` from `start` to `end`, before the script's name."""

    text: PlacedText
    start: int
    end: int


class SubmissionBook(Struct):
    """Finds submissions; each folder is listed and each file read once."""

    _folders: dict[str, list[str]] = field(default_factory=dict)
    _commands: dict[str, list[tuple[PlacedText, int, int]]] = field(default_factory=dict)

    def of(self, file: FileId, text: PlacedText) -> list[Submission]:
        """The submissions of the batch script in `file`, whose text is `text`, nearest first."""
        path = file.path or file.shown
        found = list(_naming(_commands_in(text), path, 1))
        folder = file.folder
        for level in range(1, _LEVELS + 1):
            if not folder or not within(folder, file.root):
                break
            for beside in self._listing(folder):
                if beside != file.path:
                    found.extend(_naming(self._read(beside, file), path, level))
            folder = os.path.dirname(folder)
        return found

    def _listing(self, folder: str) -> list[str]:
        if folder not in self._folders:
            names = [
                name
                for name in disk.file_names(folder)
                if name in _NAMES or os.path.splitext(name)[1].lower() in _ENDINGS
            ]
            self._folders[folder] = [os.path.join(folder, name) for name in names[:_MOST_FILES]]
        return self._folders[folder]

    def _read(self, path: str, near: FileId) -> list[tuple[PlacedText, int, int]]:
        if path not in self._commands:
            file = near.beside(os.path.relpath(path, near.folder))
            data = None if file is None else read_file(file)
            self._commands[path] = []
            if file is not None and data is not None and len(data) <= _LARGEST and b"sbatch" in data:
                with contextlib.suppress(Unreadable):
                    self._commands[path] = _commands_in(WholeText(Source(file.shown, decode(data))))
        return self._commands[path]


def _commands_in(text: PlacedText) -> list[tuple[PlacedText, int, int]]:
    """Every `sbatch` command with what follows it on its logical line."""
    found = []
    for match in _COMMAND.finditer(text.text):
        if not _NO_SCRIPT.search(match[1]):
            found.append((text, match.start(1), match.end(1)))
        if len(found) >= _MOST_COMMANDS:
            break
    return found


def _naming(commands: list[tuple[PlacedText, int, int]], path: str, least: int) -> Iterator[Submission]:
    """The commands that submit the script at a path, of which at least so many last parts must be written."""
    parts = path.split("/")
    for text, start, end in commands:
        for word in _WORD.finditer(text.text, start, end):
            written = word[0].split("/")
            if written[-1] == parts[-1]:
                if _same(written, parts) >= least:
                    yield Submission(text, start, word.start())
                break


def _same(written: list[str], parts: list[str]) -> int:
    """How many last parts of a written path are those of the real one; 0 where one contradicts it."""
    same = 0
    for mine, real in zip(reversed(written), reversed(parts), strict=False):
        if mine in ("", ".", "..", "~") or "$" in mine:
            break
        if mine != real:
            return 0
        same += 1
    return same
