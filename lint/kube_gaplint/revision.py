# ruff: noqa: PTH118
# Paths are strings here, as in discover.
"""What has changed since a revision, as git tells it: the only place that runs another program.

git may run programs that its configuration names, and fetch what a partial clone lacks. All of that is switched off:
monitors, hooks, external and text-converting diffs, filters of attributes, and every transport.
"""

from __future__ import annotations

import os
import re
import subprocess
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, field

from kube_gaplint.discover import boundary_of
from kube_gaplint.findings import Finding
from kube_gaplint.text.read import Unreadable, decode
from kube_gaplint.text.source import Place

_SECONDS = 300
_CONFIGURATION = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.quotePath", "false"),
    ("protocol.allow", "never"),
)
_SET_ASIDE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS")
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
_DIFF = (
    "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--ignore-submodules=all",
    "--unified=0", "--inter-hunk-context=0", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OLD_NAME = re.compile(rb'--- ("?)a/(.*?)("?)\t?')
_NEW_NAME = re.compile(rb'\+\+\+ ("?)b/(.*?)("?)\t?')
_BINARY = re.compile(rb'Binary files .* and ("?)b/(.*)("?) differ')
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"v": b"\v", b"f": b"\f"}


class RevisionProblem(Exception):
    """git cannot say what has changed. The message says why and what to do."""


class Lines(Struct):
    """The lines of a file that are new or changed, as ranges in order; with `whole`, all of them.

    A deletion counts as a change of the line that it follows.
    """

    whole: bool = False
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    old_name: bytes = b""
    """What the file was called before; empty for a new one."""

    def add(self, first: int, last: int) -> None:
        self.starts.append(first)
        self.ends.append(last)

    def meet(self, first: int, last: int) -> bool:
        """Whether a change lies within lines from `first` to `last`."""
        index = bisect_right(self.starts, last) - 1
        return self.whole or (index >= 0 and self.ends[index] >= first)


class Changed(Struct):
    """What has changed in some repositories. `note` says what is less exact than it should be, or is empty."""

    files: dict[str, Lines] = field(default_factory=dict)
    """By real path."""
    note: str = ""
    old_text: Callable[[str, Lines], str] = field(default=lambda _path, _lines: "")
    """The text that a file (by real path) had before."""
    _paths: dict[str, Lines | None] = field(default_factory=dict)
    _old_texts: dict[str, str] = field(default_factory=dict)

    def touches(self, finding: Finding) -> bool:
        """Whether the place of a finding, its object, or a place that explains it has changed."""
        ways = [finding.place, *(link.place for link in finding.origin.chain)]
        ways += [related.origin.place for related in finding.related]
        owner = finding.owner
        if owner is not None and finding.subject.kind == "sbatch":
            lines = self._lines(owner)  # a batch script is one object, of which the directives are shown
            if lines is not None and (lines.whole or lines.starts):
                return True
        elif owner is not None and self._meets(owner):
            if not self._stood_there(owner):
                return True
            ways = [way for way in ways if not _within(way, owner)]
        return any(self._meets(place) for place in ways)

    def _meets(self, place: Place) -> bool:
        lines = self._lines(place)
        return lines is not None and lines.meet(place.start.line, place.end.line)

    def _stood_there(self, place: Place) -> bool:
        """Whether the file held the same text before.

        Of two like objects one after the other, git may say that the end of one and the start of the next are gone.
        """
        lines = self._lines(place)
        if lines is None or not lines.old_name:
            return False
        path = os.path.realpath(place.source.path)
        if path not in self._old_texts:
            self._old_texts[path] = self.old_text(path, lines)
        return place.text in self._old_texts[path]

    def _lines(self, place: Place) -> Lines | None:
        path = place.source.path
        if path not in self._paths:
            self._paths[path] = self.files.get(os.path.realpath(path))
        return self._paths[path]


def since(revision: str, paths: Sequence[str]) -> Changed:
    """What has changed under some paths since their branch left `revision`, uncommitted and new files included.

    Raises RevisionProblem.
    """
    texts: dict[str, tuple[_Repository, str]] = {}

    def old_text(path: str, lines: Lines) -> str:
        repository, base = texts[path]
        return repository.text(base, lines.old_name)

    changed = Changed(old_text=old_text)
    for top in _repositories(paths):
        repository = _Repository(top)
        base, note = repository.base(revision)
        changed.note = changed.note or note
        for name, lines in repository.changes(base):
            path = os.path.join(top, name)
            changed.files[path], texts[path] = lines, (repository, base)
    return changed


def _repositories(paths: Sequence[str]) -> list[str]:
    tops: list[str] = []
    for path in paths:
        real = os.path.realpath(path)
        top = boundary_of(real)
        if not top:
            raise RevisionProblem(f"--diff-base needs git, and {path} lies in no git repository")
        if top not in tops:
            tops.append(top)
    return tops


class _Repository:
    def __init__(self, top: str) -> None:
        self.top = top
        self.configuration: list[tuple[str, str]] = []
        self.shallow = self._run("rev-parse", "--is-shallow-repository").strip() == b"true"
        self.configuration = list(self._without_filters())

    def base(self, revision: str) -> tuple[str, str]:
        """The commit to compare with: where the present branch left `revision`; and a note, where that is not known."""
        commit = self._commit(revision)
        if not commit:
            raise RevisionProblem(self._unknown(revision))
        head = self._commit("HEAD")
        found = self._ask("merge-base", commit, head) if head else b""
        if found:
            return found.decode(), ""
        note = ""
        if self.shallow:
            note = (
                f"this clone is shallow and does not hold where {revision} and HEAD part: compared with {revision} "
                "itself, so what it has changed since counts as well (a full clone is exact: fetch-depth: 0)"
            )
        return commit, note

    def changes(self, base: str) -> Iterator[tuple[str, Lines]]:
        """Changed and new files, by name from the top level."""
        for name, lines in _changed_lines(self._run(*_DIFF, base, "--")):
            yield os.fsdecode(name), lines
        for name in self._run("ls-files", "-z", "--others", "--exclude-standard").split(b"\0"):
            if name:
                yield os.fsdecode(name), Lines(whole=True)

    def text(self, commit: str, name: bytes) -> str:
        """What a file held in a commit; empty where it is no text."""
        try:
            return decode(self._run("cat-file", "blob", f"{commit}:{os.fsdecode(name)}"))
        except Unreadable:
            return ""

    def _commit(self, revision: str) -> str:
        name = f"{revision}^{{commit}}"
        return self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", name).decode()

    def _unknown(self, revision: str) -> str:
        message = f"git knows no revision {revision!r}"
        if self.shallow:
            return (
                f"{message}: this clone is shallow. Fetch it first (git fetch --depth=1 origin <branch>), "
                "or clone with the whole history (actions/checkout: fetch-depth: 0; GitLab: GIT_DEPTH: 0)"
            )
        remote = f"origin/{revision}"
        return f"{message}; did you mean {remote}?" if self._commit(remote) else message

    def _without_filters(self) -> Iterator[tuple[str, str]]:
        """Settings that keep git from running filters of attributes, by the name of each that is configured."""
        pattern = r"^filter\..*\.(clean|smudge|process|required)$"
        for name in self._ask("config", "--null", "--name-only", "--get-regexp", pattern).split(b"\0"):
            if name:
                yield os.fsdecode(name), "false" if name.endswith(b".required") else ""

    def _ask(self, *arguments: str) -> bytes:
        """What git answers, or nothing where it has no answer."""
        return _git(self.top, arguments, self.configuration)[1].strip(b"\n")

    def _run(self, *arguments: str) -> bytes:
        """What git answers. Raises RevisionProblem."""
        code, out, error = _git(self.top, arguments, self.configuration)
        if code:
            lines = error.decode("utf-8", "replace").strip().splitlines() or [f"exit code {code}"]
            raise RevisionProblem(f"git {arguments[0]} fails in {self.top}: {lines[0]}")
        return out


def _git(top: str, arguments: Iterable[str], configuration: Sequence[tuple[str, str]]) -> tuple[int, bytes, bytes]:
    command = ["git", "-C", top, "--no-pager"]
    for name, value in _CONFIGURATION:
        command += ["-c", f"{name}={value}"]
    environment = {name: value for name, value in os.environ.items() if name not in _SET_ASIDE} | _ENVIRONMENT
    # Names may hold a `=`, which `-c` would split at.
    given = environment.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    environment["GIT_CONFIG_COUNT"] = str(first + len(configuration))
    for number, (name, value) in enumerate(configuration, first):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    try:
        done = subprocess.run(
            [*command, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise RevisionProblem("--diff-base needs git, and there is no program git") from error
    except subprocess.TimeoutExpired as error:
        raise RevisionProblem(f"git {next(iter(arguments))} gives no answer in {_SECONDS} seconds") from error
    except ValueError as error:  # a NUL byte among the arguments
        raise RevisionProblem(f"this is no revision: {error}") from error
    return done.returncode, done.stdout if not done.returncode else b"", done.stderr


def _changed_lines(patch: bytes) -> Iterator[tuple[bytes, Lines]]:
    """The files of a patch without context, by their new names; deleted ones are left out."""
    name: bytes | None = None
    lines = Lines()
    content = 0
    for line in patch.split(b"\n"):
        if content and line[:1] in (b"+", b"-"):
            content -= 1
            continue
        hunk = _HUNK.match(line)
        if hunk:
            removed, first, added = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
            content = removed + added
            lines.add(first, first + max(added, 1) - 1)
        elif line.startswith(b"diff --git "):
            if name is not None:
                yield name, lines
            name, lines = None, Lines()
        elif match := _OLD_NAME.fullmatch(line):
            lines.old_name = _unquoted(match[2]) if match[1] else match[2]
        elif (match := _NEW_NAME.fullmatch(line)) or (match := _BINARY.fullmatch(line)):
            name = _unquoted(match[2]) if match[1] else match[2]
            lines.whole = line.startswith(b"Binary")
    if name is not None:
        yield name, lines


def _within(place: Place, owner: Place) -> bool:
    return place.source is owner.source and owner.span.start <= place.span.start < owner.span.end


def _unquoted(name: bytes) -> bytes:
    """A path that git has quoted as C does."""

    def one(match: re.Match[bytes]) -> bytes:
        text = match[1]
        return bytes([int(text, 8)]) if len(text) == 3 else _ESCAPES.get(text, text)

    return _ESCAPED.sub(one, name)
