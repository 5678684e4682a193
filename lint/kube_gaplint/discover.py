# ruff: noqa: PTH118, PTH119, PTH120, PTH122
# Paths are strings here: an object for every file would double the time of the walk.
"""From the given paths to the files that are worth reading.

The walk is in a stable order, heeds git-ignore files, never follows a symbolic link out of the given folder and opens
regular files only. A candidate is picked by its name and by a test on its bytes; whatever is passed over is counted
with its reason. Nothing is parsed here.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint import disk, lazy_re, progress
from kube_gaplint.disk import LARGE, SPECIAL, Refused
from kube_gaplint.facts import candidates as facts
from kube_gaplint.findings import FileError
from kube_gaplint.share import jobs_for
from kube_gaplint.text.read import MAX_BYTES

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

Form: TypeAlias = Literal["yaml", "script", "slurm-conf"]
Interest: TypeAlias = Literal["judged", "kustomization", "evidence", "named"]

STDIN = "<stdin>"

OTHER = "not YAML or a batch script"
IGNORED = "ignored by git"
EXCLUDED = "excluded by the configuration"
IRRELEVANT = "no training, node or Slurm object"
BROKEN = "no Kubernetes object, and not valid YAML"
HELM = "Helm template"
TEMPLATE = "template that is not filled in"
LINK = "symbolic link"
LINK_OUT = "symbolic link out of the given folder"
BINARY = "binary"
TOOLS = "folder of a tool (node_modules, .venv …)"

_GITIGNORE_LIMIT = 2**20
_HEAD = 4096
_MOST_TEMPLATES = 100
_LARGEST_TEMPLATE = 2**15
_LARGE_HEAD = 2**16
"""Bytes that tell whether a file that is too large would be judged."""


class PathError(Exception):
    """A path that was named cannot be read. `reason` says why, in words."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{disk.one_line(path)}: {reason}")
        self.path = path
        self.reason = reason


class FileId(Struct, frozen=True):
    """Where a file lies.

    `shown` is what the user reads, `path` the real absolute path, `root` the folder that references from this file
    never leave (the git top level, or the given folder). Both are empty for standard input. `given` is false for
    files outside the given paths that a reference led to.
    """

    shown: str
    path: str = ""
    root: str = ""
    given: bool = True

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0] if self.path else ""

    @property
    def repository(self) -> str:
        """The name of the root, which is that of the repository where it is a git top level."""
        return self.root.rstrip("/").rpartition("/")[2]

    def folders(self) -> Iterator[str]:
        """The folders around the file within the root, from its own outwards; none for standard input."""
        here, inner = self.folder, ""
        while here != inner and within(here, self.root):
            yield here
            here, inner = os.path.dirname(here), here

    def toward(self, path: str) -> FileId | None:
        """The file at a real path, named as a reference in this file would name it; see `beside`."""
        return self.beside(os.path.relpath(path, self.folder))

    def beside(self, relative: str) -> FileId | None:
        """The file that a relative path written in this file means; None where it lies outside of the root.

        A symbolic link counts as the place it leads to.
        """
        if not self.path or "\0" in relative:
            return None
        real = disk.real_below(self.folder, relative)
        if not within(real, self.root):
            return None
        shown = os.path.normpath(os.path.join(os.path.dirname(self.shown), relative))
        return FileId(shown, real, self.root, given=self.given)


class Candidate(Struct):
    """A file that is worth reading.

    `data` is there for files that are judged; the others are read when a judged object leads to them, and only
    `names` (the values of their `name` keys) are kept. `named` marks a file that the user named: it is always judged.
    `problem` tells why a named file was not read (it is over the size limit).
    """

    file: FileId
    form: Form
    interest: Interest
    data: bytes = b""
    names: frozenset[str] = frozenset()
    named: bool = False
    problem: str = ""


class Discovery(Struct):
    """What the walk found. `files` counts every file looked at, `skipped` those passed over, by reason.

    `charts` are the Helm charts whose templates look relevant: folder as shown, and how many templates.
    """

    candidates: list[Candidate] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    errors: list[FileError] = field(default_factory=list)
    charts: dict[str, int] = field(default_factory=dict)
    roots: tuple[str, ...] = ()
    """The given folders and files, as real paths."""
    files: int = 0
    templates: list[str] = field(default_factory=list)
    """The texts of templates that are not filled in and hold a workload with accelerators, up to a number of them."""
    passed_over: set[str] = field(default_factory=set)
    """Real paths of the files that hold no relevant object; a kustomization may still take them in."""

    def skip(self, reason: str, count: int = 1) -> None:
        """Count what was passed over; a negative count takes back what is read after all."""
        self.skipped[reason] = self.skipped.get(reason, 0) + count
        if not self.skipped[reason]:
            del self.skipped[reason]

    def add(self, other: Discovery) -> None:
        """Add what the walk found elsewhere."""
        self.candidates += other.candidates
        self.errors += other.errors
        self.files += other.files
        self.passed_over |= other.passed_over
        self.templates += other.templates[: _MOST_TEMPLATES - len(self.templates)]
        for reason, count in other.skipped.items():
            self.skip(reason, count)
        for chart, count in other.charts.items():
            self.charts[chart] = self.charts.get(chart, 0) + count

    def keep_template(self, text: str) -> None:
        """Keep the text of a template that is not read as objects, where it may hold a workload on GPU nodes."""
        if len(self.templates) < _MOST_TEMPLATES and "kind:" in text and _holds(text, facts.TEMPLATE_WORDS):
            self.templates.append(text[:_LARGEST_TEMPLATE])

    @property
    def judged(self) -> bool:
        """Whether any file is judged; the others only say something about those that are."""
        return any(one.form != "yaml" or one.interest in ("judged", "kustomization") for one in self.candidates)

    @property
    def hints(self) -> list[str]:
        """What the user can run so that passed-over templates are judged, one line a chart."""
        return [
            f"{chart or '.'} is a Helm chart with {count} template{'s' if count > 1 else ''}: "
            f"helm template {chart or '.'} | gaplint -"
            for chart, count in sorted(self.charts.items())
        ]


class Exclusion(Struct, frozen=True):
    """Patterns as in git-ignore files, relative to a folder (empty: the current one)."""

    patterns: tuple[str, ...]
    folder: str = ""


def _nothing() -> None:
    """There is nothing to do meanwhile."""


def discover(
    paths: Sequence[str],
    *,
    exclude: Sequence[Exclusion] = (),
    exclude_named: bool = False,
    kinds: frozenset[str] = frozenset(),
    stdin: bytes | None = None,
    stdin_filename: str = "",
    jobs: int = 1,
    meanwhile: Callable[[], None] = _nothing,
) -> Discovery:
    """Find the candidates under `paths`; `-` stands for standard input, whose bytes are `stdin`.

    What `exclude` says does not apply to paths that are named, unless `exclude_named`. `kinds` are further kinds whose
    files are judged. Large folders are walked by up to `jobs` processes (0: to choose); while others walk already and
    there is something to judge, this one does `meanwhile` first.
    Raises PathError for a named path that is missing or cannot be read.
    """
    walk = _Walk(exclude, kinds, exclude_named=exclude_named, jobs=jobs, meanwhile=meanwhile)
    for path in paths:
        if path == "-":
            walk.stdin(stdin, stdin_filename)
        else:
            walk.named(path)
    walk.found.roots = tuple(walk.roots)
    return walk.found


def read_file(file: FileId) -> bytes | None:
    """The bytes of a file that a reference leads to; None where it is no regular file, too large or unreadable."""
    try:
        return disk.read(file.path)
    except (OSError, Refused):
        return None


def within(path: str, folder: str) -> bool:
    """Whether a real path is the folder or lies below it."""
    return bool(folder) and (path == folder or path.startswith(folder if folder.endswith("/") else folder + "/"))


# Bytes


_KIND = lazy_re.compile(r"""\s*:[ \t]*["']?([A-Za-z][A-Za-z0-9]*)["']?[ \t]*(?:[\r\n,}#]|\Z)""", re.ASCII)
_NAME = lazy_re.compile(rb"""(?<![\w./-])name["']?[ \t]*:[ \t]*["']?([A-Za-z0-9][A-Za-z0-9._-]*)""")
_TOP_LEVEL = lazy_re.compile(rb"\n(?=[^ \t\r\n#])")


def interest_of(data: bytes, *, json: bool = False, kinds: frozenset[str] = frozenset()) -> Interest | None:
    """What the bytes of a YAML or JSON file are good for, None for nothing. Too generous at times, never too strict.

    `kinds` are kinds that are judged besides those of the table.
    """
    text = _text(data)
    if facts.CLOUDFORMATION in text and _holds(text, facts.CLOUDFORMATION_TYPES):
        return "judged"
    if "apiVersion" not in text or "kind" not in text:
        if not json and _holds(text.lower(), facts.FREE_WORDS):
            return "judged"
        return "evidence" if facts.SHARING_MARK in text else None
    found: Interest | None = "evidence" if facts.SHARING_MARK in text else None
    open_kinds = 0
    for kind in _kinds(text):
        if kind in facts.JUDGED_KINDS or kind in kinds:
            return "judged"
        if kind in facts.MARKED_KINDS and facts.MARKED_KINDS[kind] in text:
            found = found or "evidence"
        if kind in facts.EVIDENCE_KINDS:
            found = found or "evidence"
        elif kind in facts.NAMED_KINDS:
            found = found or "named"
            open_kinds |= 1
        elif kind not in facts.PLAIN_KINDS:
            open_kinds |= 2
            open_kinds |= 4 * (kind in facts.WATCHER_KINDS)
    if not open_kinds:
        return found
    if open_kinds & 2:
        lower = text.lower()
        if _speaks_of_training(lower) or _works_on_hosts(lower):
            return "judged"
        return "evidence" if open_kinds & 4 and _holds(lower, facts.WATCHERS) else found
    return "judged" if _holds(text.lower(), facts.CONFIGURATION_WORDS) else found


def speaks_of_training(data: bytes) -> bool:
    """Whether the bytes hold a word of training jobs or of the nodes under them, in letters of any case."""
    return _speaks_of_training(data.decode("latin-1").lower())


def _speaks_of_training(lower: str) -> bool:
    # Not the train in topologySpreadConstraints.
    return lower.count("train") > lower.count("strain") or _holds(lower, facts.TRAINING_WORDS)


def _works_on_hosts(lower: str) -> bool:
    return _holds(lower, facts.HOST_WORDS) or (facts.HOST_PATH_WORD in lower and _holds(lower, facts.HOST_ROOTS))


def _text(data: bytes) -> str:
    """Text to look for ASCII words in, whatever the encoding. A look into a `str` costs half of one into `bytes`."""
    if data.find(b"\0", 0, _HEAD) >= 0:
        data = data.replace(b"\0", b"")  # UTF-16 and UTF-32
    return data.decode("latin-1")


def _holds(text: str, words: Iterable[str]) -> bool:
    return True in map(text.__contains__, words)  # no generator: this runs for every file and every word


def _kinds(text: str) -> Iterable[str]:
    """The values of all `kind` keys in a text."""
    at = text.find("kind")
    while at >= 0:
        after = at + 4
        if text[after : after + 1] in ('"', "'"):
            after += 1
        match = _KIND.match(text, after)
        if match is not None:
            yield match[1]
        at = text.find("kind", after)


def kinds_in(data: bytes) -> frozenset[str]:
    """The values of all `kind` keys in the bytes, also of those that are no objects of their own."""
    return frozenset(_kinds(data.replace(b"\0", b"").decode("latin-1")))


def names_in(data: bytes) -> frozenset[str]:
    """The names of the objects in the bytes: values of `name` keys between `metadata` and the next top-level key."""
    if data.find(b"\0", 0, _HEAD) >= 0:
        data = data.replace(b"\0", b"")
    names: set[str] = set()
    at = data.find(b"metadata")
    while at >= 0:
        following = _TOP_LEVEL.search(data, at)
        end = len(data) if following is None else following.start()
        names.update(match[1].decode("ascii") for match in _NAME.finditer(data, at, end))
        at = data.find(b"metadata", max(end, at + 1))
    return frozenset(names)


def is_batch_script(data: bytes) -> bool:
    """Whether a script holds an #SBATCH line."""
    if b"\0" in data[:64]:
        data = data.replace(b"\0", b"")
    return data.startswith(facts.BATCH_MARK) or b"\n" + facts.BATCH_MARK in data or b"\r" + facts.BATCH_MARK in data


def _is_binary(data: bytes) -> bool:
    """Whether NUL bytes stand in it that no UTF-16 or UTF-32 explains."""
    if data.find(b"\0", 0, _HEAD) < 0:
        return False
    head = data[:_HEAD]
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        return False
    even, odd = head[0::2], head[1::2]
    return not (even.count(0) > len(even) * 0.7 or odd.count(0) > len(odd) * 0.7)


# Names


_FORMS = {
    **dict.fromkeys(facts.CLOUDFORMATION_ENDINGS, "cloudformation"),
    **dict.fromkeys(facts.SHELL_ENDINGS, "shell"),
    **dict.fromkeys(facts.SCRIPT_ENDINGS, "script"),
    **dict.fromkeys(facts.YAML_ENDINGS, "yaml"),
    ".json": "json",
}
"""What a file is by its ending alone."""


def _form_of(name: str) -> str:
    """What a file is by its name: a form, or a reason to look into it, or empty."""
    if name in facts.KUSTOMIZATION_NAMES:
        return "kustomization"
    if name in facts.SLURM_CONF_NAMES:
        return "slurm-conf"
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem:
        return "" if name.startswith(".") else "bare"
    ending = "." + ending.lower()
    form = _FORMS.get(ending, "")
    if ending in facts.TEMPLATE_ENDINGS and stem.lower().endswith((".yaml", ".yml", ".sbatch", ".slurm", ".sh")):
        return "template"
    return form


def is_source(path: str) -> bool:
    """Whether a real path is a file that somebody wrote for a cluster or for gaplint: a manifest, a script, a
    configuration. Reports are none, whatever they are called."""
    name = os.path.basename(path)
    form = _form_of(name)
    if not form or not disk.is_file(path):
        return name in facts.OWN_NAMES and disk.is_file(path)
    if form not in ("json", "bare", "cloudformation"):
        return True
    data = read_file(FileId(path, path)) or b""
    if form != "json":
        return data.startswith(b"#!") or facts.CLOUDFORMATION.encode() in data
    from json import JSONDecoder

    try:
        first, _ = JSONDecoder().raw_decode(data.decode("utf-8-sig", "replace").lstrip())  # of JSON Lines, the first
    except (ValueError, RecursionError):
        return b"apiVersion" in data
    return isinstance(first, dict) and ("apiVersion" in first or "Resources" in first)


# Git-ignore files


class _Ignore:
    """The patterns of one git-ignore file, for paths below its folder.

    pathspec answers exactly as git does but tries every pattern in turn. Nearly all files match none, and of a fresh
    clone none at all, so a sieve is asked first; where it does not understand a pattern, two joined expressions are
    (patterns on the name alone, and those on a path).
    """

    def __init__(self, base: str, lines: Sequence[str]) -> None:
        from kube_gaplint import git_patterns

        self.base = base
        self._lines, self.left_out = git_patterns.within_limits(lines)
        self._sieve = git_patterns.Sieve(self._lines)

    def __reduce__(self) -> tuple[type[_Ignore], tuple[str, Sequence[str]]]:
        return _Ignore, (self.base, self._lines)

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        from kube_gaplint import git_patterns

        return git_patterns.spec(git_patterns.usable(self._lines)[0])

    @cached_property
    def _joined(self) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
        """What the sieve does not understand: patterns on a name, and on a path."""
        from kube_gaplint import git_patterns

        by_name, by_path = [], []
        for pattern in git_patterns.spec(git_patterns.usable(self._sieve.left)[0]).patterns:
            regex = pattern.regex
            if pattern.include is None or regex is None:
                continue
            expression = regex.pattern.replace("(?P<ps_d>", "(?:")
            written = str(pattern.pattern).strip()
            if expression.startswith(_ANYWHERE) and "/" not in written.rstrip("/"):
                by_name.append("^" + expression.removeprefix(_ANYWHERE))
            else:
                by_path.append(expression)
        return _joined(by_name), _joined(by_path)

    def verdict(self, path: str, name: str, *, is_folder: bool) -> bool | None:
        """True: ignored; False: taken in again by `!`; None: nothing said. `path` is below the base."""
        slash = "/" if is_folder else ""
        may_match = self._sieve.lets_through(path, name)
        if not may_match and self._sieve.left:
            by_name, by_path = self._joined
            may_match = bool(
                (by_name is not None and by_name.match(name + slash))
                or (by_path is not None and by_path.match(path + slash))
            )
        return self._spec.check_file(path + slash).include if may_match else None


_ANYWHERE = "^(?:.+/)?"


def _joined(expressions: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{expression})" for expression in expressions)) if expressions else None


def _ignore_file(folder: str, path: str, errors: list[FileError] | None = None, shown: str = "") -> _Ignore | None:
    """The patterns of a file; what cannot be used of it goes to `errors`."""
    try:
        data = disk.read(path, _GITIGNORE_LIMIT)
    except Refused as refused:
        if errors is not None and str(refused) == LARGE:
            errors.append(FileError(shown, "larger than 1 MiB: what it names was judged all the same"))
        return None
    except OSError as error:
        if errors is not None:
            errors.append(FileError(shown, _why(error)))
        return None
    lines = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").splitlines()
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if not lines:
        return None
    found = _Ignore(folder, lines)
    if found.left_out and errors is not None:
        from kube_gaplint.git_patterns import MOST

        reason = "too long" if len(lines) <= MOST else "too many or too long"
        errors.append(FileError(shown, f"{found.left_out:,} of its patterns are {reason}, and were not used"))
    return found


def _is_ignored(rules: Sequence[_Ignore], path: str, name: str, *, is_folder: bool) -> bool:
    """Whether the innermost file that says something about the path ignores it."""
    for rule in reversed(rules):
        verdict = rule.verdict(path[len(rule.base) + 1 :], name, is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False


# The walk


class _Folder(Struct):
    """A folder on the walk. `chart` is the Helm chart (as shown) whose templates folder this is or lies in."""

    path: str
    shown: str
    root: str
    given: str
    rules: tuple[_Ignore, ...]
    chart: str | None = None
    prefix: str = ""
    """What comes before a name in its path."""
    shown_prefix: str = ""

    def __post_init__(self) -> None:
        self.prefix = _join(self.path, "")
        self.shown_prefix = _join(self.shown, "") if self.shown else ""


_LEAST = 1_500
"""Files after which a walk that still has folders before it is shared with other processes."""


class _Piece(Struct):
    """What the walk through one folder found, and the links that it left for later."""

    found: Discovery
    links: list[tuple[_Folder, str]]


class _Share(Struct):
    """What one process found in the folders that it took, by their numbers, and the paths that it has seen."""

    pieces: dict[int, _Piece]
    seen: set[str]
    visited: set[str]


class _Walk:
    def __init__(
        self,
        exclude: Sequence[Exclusion],
        kinds: frozenset[str],
        *,
        exclude_named: bool,
        jobs: int,
        meanwhile: Callable[[], None],
    ) -> None:
        self.found = Discovery()
        self.roots: list[str] = []
        self.excluded = [_Ignore(disk.real(one.folder or os.curdir), one.patterns) for one in exclude if one.patterns]
        self.exclude_named = exclude_named
        self.kinds = kinds
        self.jobs = jobs
        self.meanwhile = meanwhile
        self.earlier = 0
        """Files that were seen before `found` was begun."""
        self.seen: set[str] = set()
        self.visited: set[str] = set()

    def stdin(self, data: bytes | None, filename: str) -> None:
        if data is None:
            raise PathError("-", "nothing was given on standard input")
        self.found.files += 1
        file = FileId(filename or STDIN)
        if len(data) > MAX_BYTES:
            self.found.candidates.append(Candidate(file, "yaml", "judged", named=True, problem=LARGE))
            return
        form = _form_of(filename.rpartition("/")[2])
        script = form == "script" or data.startswith((b"#!", b"\xef\xbb\xbf#!")) or is_batch_script(data[:_HEAD])
        self.found.candidates.append(Candidate(file, "script" if script else "yaml", "judged", data, named=True))

    def named(self, path: str) -> None:
        if not path or "\0" in path:
            raise PathError(path, "not a path")
        real = disk.real(path)
        try:
            kind = disk.file_type(real)
        except OSError as error:
            raise PathError(path, _why(error)) from error
        if self.exclude_named and self._is_excluded(real, is_folder=stat.S_ISDIR(kind)):
            self.found.skip(EXCLUDED)
        elif stat.S_ISDIR(kind):
            self._named_folder(path, real)
        elif stat.S_ISREG(kind):
            self._named_file(path, real)
        else:
            raise PathError(path, "neither a file nor a folder (`-` reads standard input)")

    def _is_excluded(self, path: str, *, is_folder: bool) -> bool:
        """Whether a pattern excludes a path or a folder that it lies in."""
        for excluded in self.excluded:
            here = path
            while within(here, excluded.base) and here != excluded.base:
                below, name = here[len(excluded.base.rstrip("/")) + 1 :], os.path.basename(here)
                if excluded.verdict(below, name, is_folder=is_folder or here != path):
                    return True
                here = os.path.dirname(here)
        return False

    def _named_folder(self, path: str, real: str) -> None:
        try:
            disk.entries(real)
        except OSError as error:
            raise PathError(path, _why(error)) from error
        top = disk.boundary_of(real)
        self.roots.append(real)
        shown = "" if path in (".", "./") else path.rstrip("/") or "/"
        self._descend(_Folder(real, shown, top or real, real, _rules_above(top, real), _chart_around(real, shown)))

    def _named_file(self, path: str, real: str) -> None:
        self.roots.append(real)
        if real in self.seen:
            self._mark_named(real)
            return
        self.seen.add(real)
        self.found.files += 1
        folder, _, name = real.rpartition("/")
        form = _form_of(name) or _form_of(path.rpartition("/")[2])
        file = FileId(path, real, disk.boundary_of(folder) or (folder if form == "kustomization" else real))
        try:
            data = disk.read(real)
        except Refused as refused:
            if str(refused) != LARGE:
                raise PathError(path, str(refused)) from refused
            kind: Form = "script" if form in ("script", "shell") else "yaml"
            self.found.candidates.append(Candidate(file, kind, "judged", named=True, problem=LARGE))
            return
        except OSError as error:
            raise PathError(path, _why(error)) from error
        chart = _chart_around(folder, os.path.dirname(path))
        if chart is not None and b"{{" in data and form in ("yaml", "template", ""):
            self._skip_chart(chart, data)
            return
        self._take(file, form, data, named=True)

    def _mark_named(self, real: str) -> None:
        for candidate in self.found.candidates:
            if candidate.file.path == real:
                candidate.named = True

    def _descend(self, start: _Folder) -> None:
        """Visit a folder and all below it, without recursion; links are looked at last."""
        links: list[tuple[_Folder, str]] = []
        left = self._through([start], links, _LEAST)
        number = jobs_for(self.jobs, self.found.files, _LEAST) if len(left) > 1 else 1
        if number == 1:
            self._through(left, links)
        else:
            self._shared(left[::-1], links, number)
        for folder, name in links:
            self._link(folder, name)

    def _through(self, stack: list[_Folder], links: list[tuple[_Folder, str]], most: float = math.inf) -> list[_Folder]:
        """Visit the folders of a stack and all below them; when more than `most` files were seen and there are several
        folders to go, those."""
        while stack and (self.found.files < most or len(stack) == 1):
            folder = stack.pop()
            if folder.path in self.visited:  # it was given, or lies in a folder that was
                continue
            self.visited.add(folder.path)
            progress.tell("looking through files", self.earlier + self.found.files)
            below = self._visit(folder, links)
            stack.extend(reversed(below))
        return stack

    def _shared(self, folders: Sequence[_Folder], links: list[tuple[_Folder, str]], number: int) -> None:
        """Visit folders by so many processes; each takes the next one as soon as it is through with the last."""
        from kube_gaplint import pool

        self.earlier = self.found.files
        with pool.Tickets(len(folders)) as tickets:

            def take(at: int) -> _Share:
                if at == 0 and self.found.judged:
                    self.meanwhile()
                seen, visited = self.seen, self.visited
                self.seen, self.visited = set(seen), set(visited)
                pieces = {ticket: self._piece(folders[ticket]) for ticket in tickets}
                share = _Share(pieces, self.seen - seen, self.visited - visited)
                self.seen, self.visited = seen, visited
                return share

            shares = pool.shared(take, number, ())
        pieces = {}
        for share in shares:
            pieces.update(share.pieces)
            self.seen |= share.seen
            self.visited |= share.visited
        for at, folder in enumerate(folders):
            piece = pieces.get(at) or self._piece(folder)  # whoever took it may have been ended
            self.found.add(piece.found)
            links += piece.links
        self.earlier = 0

    def _piece(self, folder: _Folder) -> _Piece:
        """What the walk through one folder finds, apart from the rest."""
        piece = _Piece(Discovery(), [])
        found, self.found = self.found, piece.found
        self._through([folder], piece.links)
        self.found = found
        self.earlier += piece.found.files
        return piece

    def _visit(self, folder: _Folder, links: list[tuple[_Folder, str]]) -> list[_Folder]:
        try:
            entries = disk.entries(folder.path)
        except OSError as error:
            self.found.errors.append(FileError(_shown(folder, "") or ".", _why(error)))
            return []
        names = {name for name, _ in entries}
        rules = folder.rules
        root = folder.root
        if ".git" in names and folder.path != root:  # a repository within: its own rules, its own boundary
            rules, root = (), folder.path
        if ".gitignore" in names:
            path = os.path.join(folder.path, ".gitignore")
            own = _ignore_file(folder.path, path, self.found.errors, _shown(folder, ".gitignore"))
            if own is not None:
                rules = (*rules, own)
        here = _Folder(folder.path, folder.shown, root, folder.given, rules, folder.chart)
        below = []
        for name, what in entries:
            if what == disk.FILE:
                self._file(here, name)
            elif what == disk.LINK:
                links.append((here, name))
            elif what == disk.FOLDER:
                inner = self._folder(here, name, is_chart="Chart.yaml" in names)
                if inner is not None:
                    below.append(inner)
            else:
                self.found.files += 1
                self.found.skip(SPECIAL)
        return below

    def _folder(self, folder: _Folder, name: str, *, is_chart: bool) -> _Folder | None:
        if name in facts.VERSION_CONTROL_FOLDERS:
            return None
        if name in facts.TOOL_FOLDERS:
            self.found.skip(TOOLS)
            return None
        path = _join(folder.path, name)
        reason = self._ignored(folder, path, name, is_folder=True)
        if reason:
            self.found.skip(reason)
            return None
        shown = _shown(folder, name)
        chart = folder.chart
        if is_chart and name == "templates":
            chart = folder.shown
        return _Folder(path, shown, folder.root, folder.given, folder.rules, chart)

    def _ignored(self, folder: _Folder, path: str, name: str, *, is_folder: bool) -> str:
        if folder.rules and _is_ignored(folder.rules, path, name, is_folder=is_folder):
            return IGNORED
        for excluded in self.excluded:
            if within(path, excluded.base):
                below = path[len(excluded.base.rstrip("/")) + 1 :]
                if excluded.verdict(below, name, is_folder=is_folder):
                    return EXCLUDED
        return ""

    def _link(self, folder: _Folder, name: str) -> None:
        """A link to a file within the given folder is judged if the file itself was not; all others are counted."""
        self.found.files += 1
        real = disk.real(_join(folder.path, name))
        if not within(real, folder.given):
            self.found.skip(LINK_OUT)
        elif real in self.seen or not disk.is_file(real) or not _form_of(name) or _in_version_control(real):
            self.found.skip(LINK)
        else:
            self.found.files -= 1
            self._file(folder, name, real)

    def _file(self, folder: _Folder, name: str, real: str = "") -> None:
        if name in facts.OWN_NAMES:
            return
        self.found.files += 1
        path = folder.prefix + name
        if folder.rules or self.excluded:
            reason = self._ignored(folder, path, name, is_folder=False)
            if reason:
                self.found.skip(reason)
                return
        path = real or path
        form = _form_of(name)
        if not form:
            self.found.skip(OTHER)
            return
        if path in self.seen:
            return
        shown = folder.shown_prefix + name
        try:
            if form == "bare" and not _bare_script(disk.head(path, _HEAD)):
                self.found.skip(OTHER)
                return
            self.seen.add(path)
            data = disk.read(path)
        except Refused as refused:
            if str(refused) != LARGE or not self._large(FileId(shown, path, folder.root), form):
                self.found.skip(str(refused))
            return
        except OSError as error:
            self.found.errors.append(FileError(shown, _why(error)))
            return
        if folder.chart is not None and (form == "template" or b"{{" in data):
            self._skip_chart(folder.chart, data)
            return
        if form in ("yaml", "json") and not _is_binary(data):
            # Nearly all files of a repository end here.
            interest = interest_of(data, json=form == "json", kinds=self.kinds)
            if interest is None:
                self.found.skip(IRRELEVANT)
                self.found.passed_over.add(path)
            else:
                self._keep(FileId(shown, path, folder.root), "yaml", interest, data, named=False)
            return
        self._take(FileId(shown, path, folder.root), form, data, named=False)

    def _large(self, file: FileId, form: str) -> bool:
        """Keep a file that is too large to be read where its beginning is that of something to judge."""
        try:
            data = disk.head(file.path, _LARGE_HEAD)
        except (OSError, Refused):
            return False
        if form in ("script", "shell", "bare"):
            relevant = form == "script" or is_batch_script(data)
        else:
            relevant = interest_of(data, json=form == "json", kinds=self.kinds) == "judged"
        if relevant:
            kind: Form = "script" if form in ("script", "shell", "bare") else "yaml"
            self.found.candidates.append(Candidate(file, kind, "judged", problem=LARGE))
        return relevant

    def _skip_chart(self, chart: str, data: bytes) -> None:
        self.found.skip(HELM)
        self.found.keep_template(_text(data))
        if interest_of(data) == "judged":
            self.found.charts[chart] = self.found.charts.get(chart, 0) + 1

    def _take(self, file: FileId, form: str, data: bytes, *, named: bool) -> None:
        """Decide on a file by its name and bytes."""
        kind: Form = "yaml"
        interest: Interest | None
        if form == "template":
            self.found.skip(TEMPLATE)
            self.found.keep_template(_text(data))
            return
        if form == "cloudformation" and facts.CLOUDFORMATION not in _text(data):
            form = ""
        if _is_binary(data) and not (named and form in ("yaml", "json", "script", "kustomization")):
            self.found.skip(BINARY)
            return
        if form in ("script", "shell", "bare", "slurm-conf"):
            kind = "slurm-conf" if form == "slurm-conf" else "script"
            if form in ("shell", "bare") and not is_batch_script(data):
                self.found.skip(OTHER)
                return
            interest = "judged"
        elif form == "kustomization":
            interest = "kustomization"
        elif form:
            interest = interest_of(data, json=form == "json", kinds=self.kinds)
            if interest is None and named:
                interest = "judged"
        elif named and (is_batch_script(data) or (data.startswith(b"#!") and _batch_ending(file.shown))):
            kind, interest = "script", "judged"
        elif named and interest_of(data, kinds=self.kinds) is not None:
            interest = "judged"
        else:
            self.found.skip(OTHER)
            return
        if interest is None:
            self.found.skip(IRRELEVANT)
            self.found.passed_over.add(file.path)
            return
        self._keep(file, kind, interest, data, named=named)

    def _keep(self, file: FileId, form: Form, interest: Interest, data: bytes, *, named: bool) -> None:
        if named and interest != "kustomization":
            interest = "judged"
        kept = interest in ("judged", "kustomization")
        names = frozenset[str]() if kept else names_in(data)
        self.found.candidates.append(Candidate(file, form, interest, data if kept else b"", names, named))


def _bare_script(head: bytes) -> bool:
    return head.startswith(b"#!") and facts.BATCH_MARK in head


def _batch_ending(shown: str) -> bool:
    return os.path.splitext(shown)[1].lower() in facts.SCRIPT_ENDINGS


def _in_version_control(path: str) -> bool:
    return not facts.VERSION_CONTROL_FOLDERS.isdisjoint(path.split("/"))


def _join(folder: str, name: str) -> str:
    return folder + name if folder.endswith("/") else f"{folder}/{name}"


def _shown(folder: _Folder, name: str) -> str:
    if not name or not folder.shown:
        return folder.shown or name
    return _join(folder.shown, name)


def _why(error: OSError) -> str:
    """The reason of an OSError in plain words."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, PermissionError):
        return "permission denied"
    return (error.strerror or type(error).__name__).lower()


def _rules_above(top: str, folder: str) -> tuple[_Ignore, ...]:
    """The rules of the git-ignore files from the top level down to (not including) a folder.

    Where they ignore the folder itself, the user named it all the same: then they do not count.
    """
    if not top:
        return ()
    rules = []
    exclude = _ignore_file(top, os.path.join(top, ".git", "info", "exclude"))
    if exclude is not None:
        rules.append(exclude)
    if folder == top:
        return tuple(rules)
    here = top
    for name in folder[len(top.rstrip("/")) + 1 :].split("/"):
        own = _ignore_file(here, os.path.join(here, ".gitignore"))
        if own is not None:
            rules.append(own)
        here = _join(here, name)
        if _is_ignored(rules, here, name, is_folder=True):
            return ()
    return tuple(rules)


def _chart_around(real: str, shown: str) -> str | None:
    """The Helm chart (as shown) in whose `templates` a real folder lies, or None."""
    here, name = real, os.path.basename(real)
    up = shown or "."
    while name:
        parent = os.path.dirname(here)
        up = os.path.normpath(os.path.join(up, ".."))
        if name == "templates" and disk.is_file(os.path.join(parent, "Chart.yaml")):
            return up
        if parent == here:
            break
        here, name = parent, os.path.basename(parent)
    return None
