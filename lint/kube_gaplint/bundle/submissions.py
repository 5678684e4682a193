"""How the files around a batch script submit it: `sbatch --array=1-10%1 train.slurm` in a README or a script.

People keep on the command line what changes from one submission to the next, and write it down beside the script. A
command counts where it names the script: by its name in the script's own comments and in files of its folder, by its
path from there in files of folders around it. Options stand on the command too, or in variables that the submitting
shell exports (`SBATCH_OPEN_MODE=append`), which sbatch takes over the script's own lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.bundle.beside import BesideFiles
from kube_gaplint.discover import FileId
from kube_gaplint.text.source import PlacedText

_MOST_COMMANDS = 400
_COMMAND = lazy_re.compile(r"(?<![\w./-])sbatch[ \t]+((?:[^\n\\]|\\(?:\r?\n|.))*)")
_WORD = lazy_re.compile(r"[^\s'\"`;&|()<>]+")
_NO_SCRIPT = lazy_re.compile(r"--wrap\b|<<")
_FILLS_IN = lazy_re.compile(r"\b(?:envsubst|gomplate|jinja2?)\b|\bsed[ \t]+['\"-]|(?m:^)[ \t]*(?:eval|m4)[ \t]")
"""Commands that write a copy of a file with its variables filled in."""
_ASSIGNED = lazy_re.compile(
    r"(?<![\w$\{-])(?P<name>SBATCH_[A-Z_]{2,40})[ \t]*[:?]?=[ \t]*(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|()'\"`]*)"
)
_SOURCED = lazy_re.compile(r"(?:^|[\s;&|(])(?:source|\.|-?include)[ \t]+[\"']?(?:\S*/)?(?P<name>[\w.-]+)", re.MULTILINE)


class Exported(Struct, frozen=True):
    """A variable of sbatch's that a file gives the shell which submits: `text` from `start` to `end` says so."""

    name: str
    value: str
    text: PlacedText
    start: int
    end: int


class Submission(Struct, frozen=True):
    """One `sbatch` command: its options stand in `text` from `start` to `end`, before the script's name."""

    text: PlacedText
    start: int
    end: int
    filled_in: bool = False
    """Its file names the script beside a command that may fill in the script's variables first (`envsubst`)."""
    exported: tuple[Exported, ...] = ()


class SubmissionBook(Struct):
    """Finds submissions; the commands of each file are looked for once."""

    beside: BesideFiles
    _commands: dict[int, list[tuple[PlacedText, int, int]]] = field(default_factory=dict)

    def of(self, file: FileId, text: PlacedText) -> list[Submission]:
        """The submissions of the batch script in `file`, whose text is `text`, nearest first."""
        path = file.path or file.shown
        found = list(_naming(_commands_in(text), path, 1))
        files: list[PlacedText] = []
        for level, other in self.beside.around(file):
            files.append(other)
            if id(other) not in self._commands:  # the book of files keeps them all
                self._commands[id(other)] = _commands_in(other)
            found.extend(_naming(self._commands[id(other)], path, level))
        return [replace(one, exported=tuple(self._exported(one, files))) for one in found]

    def _exported(self, one: Submission, around: list[PlacedText]) -> Iterator[Exported]:
        """What the shell of a submission has: by its own file, and by those that this sources."""
        yield from _assigned(one.text, one)
        sources = [other for other in around if "SBATCH_" in other.text and other is not one.text]
        if sources:
            names = {match["name"] for match in _SOURCED.finditer(one.text.text)}
            for other in sources:
                if other.place(0, 0).source.path.replace("\\", "/").rpartition("/")[2] in names:
                    yield from _assigned(other, None)


def _assigned(text: PlacedText, submission: Submission | None) -> Iterator[Exported]:
    """The variables that a text sets; in a comment only those in front of the command itself."""
    whole = text.text
    if "SBATCH_" not in whole:
        return
    for found in islice(_ASSIGNED.finditer(whole), _MOST_COMMANDS):
        line = whole.rfind("\n", 0, found.start()) + 1
        in_front = (
            submission is not None
            and line <= found.start() < submission.start
            and (whole.find("\n", found.end(), submission.start) < 0)
        )
        if in_front or not whole[line : found.start()].lstrip().startswith("#"):
            yield Exported(found["name"], found["value"].strip("\"'"), text, *found.span())


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
                    yield Submission(text, start, word.start(), _FILLS_IN.search(text.text) is not None)
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
