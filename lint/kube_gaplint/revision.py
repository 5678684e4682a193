# ruff: noqa: PTH118
# Paths are strings here, as in discover.
"""What the files held at a revision, as git tells it: the only place that runs another program.

git may run programs that its configuration names, and fetch what a partial clone lacks. All of that is switched off:
monitors, hooks, external and text-converting diffs, filters of attributes, and every transport. Nothing is checked
out: the contents come from `git cat-file`, one by one, when a run reads them.
"""

from __future__ import annotations

import difflib
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, NamedTuple

from kube_gaplint import disk
from kube_gaplint.discover import within
from kube_gaplint.text.read import MAX_BYTES

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
    "diff", "--raw", "-z", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative",
    "--ignore-submodules=all", "--find-renames",
)  # fmt: skip


class RevisionProblem(Exception):
    """git cannot say what has changed. The message says why and what to do."""


class Before:
    """What some repositories held before a change. `note` says what is less exact than it should be, or is empty."""

    def __init__(self) -> None:
        self.note = ""
        self.renamed: dict[str, str] = {}
        """The old path of what has another one now, both real."""
        self._texts: dict[str, _Blob] = {}
        self._gone: set[str] = set()

    def __bool__(self) -> bool:
        """Whether anything has changed."""
        return bool(self._texts or self._gone)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Within it, a run sees the files as they were. Raises RevisionProblem."""
        with ExitStack() as stack:
            texts = _Texts(self._texts, stack)
            with disk.reading_instead(texts, self._gone):
                yield

    def paths(self, paths: Sequence[str]) -> tuple[str, ...]:
        """The paths under which a run finds what is under some paths now; only those that were there."""
        real = {disk.real(path): path for path in paths}
        before = {path: given for path, given in real.items() if path not in self.renamed}
        for new, old in self.renamed.items():
            if any(within(new, path) for path in real) and not any(within(old, path) for path in before):
                before[old] = os.path.relpath(old)
        with disk.reading_instead(self._texts_of_names(), self._gone):
            return tuple(given for path, given in before.items() if disk.is_file(path) or disk.is_folder(path))

    def _texts_of_names(self) -> dict[str, bytes]:
        return dict.fromkeys(self._texts, b"")

    def _add(self, repository: _Repository, base: str) -> None:
        for change in repository.changes(base):
            old, new = (name and os.path.join(repository.top, name) for name in (change.old_name, change.new_name))
            if old and change.blob:
                self._texts[old] = _Blob(repository, change.blob)
            if new and (new != old or not change.blob):
                self._gone.add(new)
            if old and new and new != old:
                self.renamed[new] = old
        self._gone -= self._texts.keys()


class _Blob(NamedTuple):
    repository: _Repository
    name: str


class _Texts(Mapping[str, bytes]):
    """The contents of files by path; each is asked for when it is read."""

    def __init__(self, blobs: Mapping[str, _Blob], stack: ExitStack) -> None:
        self._blobs = blobs
        self._stack = stack
        self._open: dict[tuple[int, str], _Contents] = {}

    def __getitem__(self, path: str) -> bytes:
        repository, name = self._blobs[path]
        asker = os.getpid(), repository.top  # a forked process shares no pipe with its parent
        if asker not in self._open:
            self._open[asker] = self._stack.enter_context(repository.contents())
        return self._open[asker].of(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)

    def __contains__(self, path: object) -> bool:
        return path in self._blobs


def since(revision: str, paths: Sequence[str]) -> Before:
    """What was under some paths where their branch left `revision`; uncommitted and new files are changes, too.

    Raises RevisionProblem.
    """
    before = Before()
    for top in _repositories(paths):
        repository = _Repository(top)
        base, note = repository.base(revision)
        before.note = before.note or note
        before._add(repository, base)
    return before


def _repositories(paths: Sequence[str]) -> list[str]:
    tops: list[str] = []
    for path in paths:
        real = disk.real(path)
        top = disk.boundary_of(real)
        if not top:
            raise RevisionProblem(f"--diff-base needs git, and {disk.one_line(path)} lies in no git repository")
        if top not in tops:
            tops.append(top)
    return tops


class _Change(NamedTuple):
    """One file: its names from the top level (empty where there was or is none), and the blob that it was."""

    old_name: str
    new_name: str
    blob: str


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
                "itself, so what it has mended since counts as new (a full clone is exact: fetch-depth: 0)"
            )
        return commit, note

    def changes(self, base: str) -> list[_Change]:
        """What has changed in the working tree since a commit. Raises RevisionProblem."""
        try:
            changes = list(_changes(self._run(*_DIFF, base, "--")))
            sizes = self._sizes({change.blob for change in changes if change.blob})
        except RevisionProblem as problem:
            if self._ask("config", "--get-regexp", r"^remote\..*\.promisor$"):
                raise RevisionProblem(
                    "this clone is partial (git clone --filter) and lacks what the files held before; gaplint fetches "
                    "nothing. Clone without --filter"
                ) from problem
            raise
        # A file that is too large is read at no time.
        changes = [one._replace(blob="") if sizes.get(one.blob, 0) > MAX_BYTES else one for one in changes]
        untracked = self._run("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
        return changes + [_Change("", os.fsdecode(name), "") for name in untracked if name]

    @contextmanager
    def contents(self) -> Iterator[_Contents]:
        """A process that tells the contents of blobs."""
        command, environment = _command(self.top, ("cat-file", "--batch"), self.configuration)
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                yield _Contents(process.stdin, process.stdout)
            finally:
                process.kill()

    def _sizes(self, blobs: set[str]) -> dict[str, int]:
        names = "".join(f"{blob}\n" for blob in sorted(blobs)).encode()
        sizes = {}
        for line in self._run("cat-file", "--batch-check", given=names).decode().splitlines():
            name, kind, *size = line.split(" ")
            if not size:
                raise RevisionProblem(f"git cannot tell what {name} held in {self.top}: it is {kind}")
            sizes[name] = int(size[0])
        return sizes

    def _commit(self, revision: str) -> str:
        name = f"{revision}^{{commit}}"
        return self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", name).decode()

    def _unknown(self, revision: str) -> str:
        message = f"git knows no revision {revision!r} in {self.top}"
        if self.shallow:
            return (
                f"{message}: this clone is shallow. Fetch it first (git fetch --depth=1 origin <branch>), "
                "or clone with the whole history (actions/checkout: fetch-depth: 0; GitLab: GIT_DEPTH: 0)"
            )
        known = self._ask("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
        names = known.decode("utf-8", "replace").splitlines()
        near = [name for name in names if name.partition("/")[2] == revision]
        near = near or difflib.get_close_matches(revision, names, n=2, cutoff=0.75)
        if near:
            return f"{message}; did you mean {' or '.join(near)}?"
        return (
            f"{message}. It takes a branch, a tag or a commit that this clone has: `git branch --all` and `git tag` "
            "list them, `git fetch origin` gets those that are new (then it is origin/<branch>)"
        )

    def _without_filters(self) -> Iterator[tuple[str, str]]:
        """Settings that keep git from running filters of attributes, by the name of each that is configured."""
        pattern = r"^filter\..*\.(clean|smudge|process|required)$"
        for name in self._ask("config", "--null", "--name-only", "--get-regexp", pattern).split(b"\0"):
            if name:
                yield os.fsdecode(name), "false" if name.endswith(b".required") else ""

    def _ask(self, *arguments: str) -> bytes:
        """What git answers, or nothing where it has no answer."""
        return _git(self.top, arguments, self.configuration)[1].strip(b"\n")

    def _run(self, *arguments: str, given: bytes = b"") -> bytes:
        """What git answers. Raises RevisionProblem."""
        code, out, error = _git(self.top, arguments, self.configuration, given)
        if code:
            lines = error.decode("utf-8", "replace").strip().splitlines() or [f"exit code {code}"]
            raise RevisionProblem(f"git {arguments[0]} fails in {self.top}: {lines[-1]}")
        return out


class _Contents:
    """Both ends of `git cat-file --batch`."""

    def __init__(self, asking: IO[bytes], answering: IO[bytes]) -> None:
        self._asking = asking
        self._answering = answering

    def of(self, blob: str) -> bytes:
        """What a blob holds. Raises RevisionProblem."""
        try:
            self._asking.write(f"{blob}\n".encode())
            self._asking.flush()
            size = self._answering.readline().split(b" ")[-1]
            if not size.strip().isdigit():
                raise RevisionProblem(f"git cat-file does not tell what {blob} holds")
            return self._answering.read(int(size) + 1)[:-1]
        except OSError as error:
            raise RevisionProblem(f"git cat-file fails: {error.strerror}") from error


def _command(
    top: str, arguments: Iterable[str], configuration: Sequence[tuple[str, str]]
) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment that make git do nothing but answer."""
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
    return [*command, *arguments], environment


def _git(
    top: str, arguments: Iterable[str], configuration: Sequence[tuple[str, str]], given: bytes = b""
) -> tuple[int, bytes, bytes]:
    command, environment = _command(top, arguments, configuration)
    try:
        done = subprocess.run(command, env=environment, input=given, capture_output=True, timeout=_SECONDS, check=False)
    except FileNotFoundError as error:
        raise RevisionProblem("--diff-base needs git, and there is no program git") from error
    except subprocess.TimeoutExpired as error:
        raise RevisionProblem(f"git {next(iter(arguments))} gives no answer in {_SECONDS} seconds") from error
    except ValueError as error:  # a NUL byte among the arguments
        raise RevisionProblem(f"this is no revision: {error}") from error
    return done.returncode, done.stdout if not done.returncode else b"", done.stderr


def _changes(raw: bytes) -> Iterator[_Change]:
    """The changes that `git diff --raw -z` tells, links and submodules aside."""
    fields = iter(raw.split(b"\0"))
    for head in fields:
        if not head.startswith(b":"):
            continue
        old_mode, new_mode, blob, _, status = head[1:].decode().split(" ")
        old_name = new_name = os.fsdecode(next(fields))
        if status[0] in "RC":
            new_name = os.fsdecode(next(fields))
        was_file, is_file = old_mode.startswith("100"), new_mode.startswith("100")
        if was_file or is_file:
            yield _Change(
                old_name if was_file else "",
                new_name if is_file or status[0] == "U" else "",
                blob if was_file else "",
            )
