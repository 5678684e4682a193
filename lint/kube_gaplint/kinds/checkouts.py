"""A pod that fetches the very repository which its manifest lies in: by `git clone`, by git-sync, or as Ray's working
directory. What it then runs is there to be read, also where it copies it out of the clone first. So is what lies on a
volume or in an image below a folder of the repository's name, and in a folder from which the pod installs itself as a
Python project, where the repository is one too.

The repository is known by the name of its top folder, which is also the name that a clone gets.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from kube_gaplint import lazy_re
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.source import PlacedText

_ADDRESS = lazy_re.compile(
    r"(?:git@|https?://|ssh://|git://)[^\s\"';|&)]*?[/:](?P<name>[\w.-]+?)(?:\.git)?/?(?=[\s\"';|&)]|\Z)"
    r"(?:[ \t]+(?P<target>[\w./-]+))?"
)
_ARCHIVE = lazy_re.compile(r"https?://[^\s\"']*?/(?P<name>[\w.-]+)/(?:archive|zipball)/[\w./-]+")
_FOLDER = lazy_re.compile(r"--(?:link|dest)(?:=|\s+)[\"']?(?P<name>[\w.-]+)")
_BRANCH = lazy_re.compile(
    r"(?:(?:--branch|--ref|(?<!\S)-b)(?:=|\s+)|\bgit\s+(?:checkout|switch)\s+)[\"']?(?P<name>[\w./-]+)"
)
_COPY = lazy_re.compile(
    r"(?:^|[;&|\n])[ \t]*cp[ \t]+(?:-[\w-]+[ \t]+)*[\"']?(?P<source>[\w./-]+)[\"']?[ \t]+"
    r"[\"']?(?P<target>/[\w./-]+)[\"']?[ \t]*(?=[;&|\n]|\Z)"
)
_INSTALLED = lazy_re.compile(
    r"(?:^|[;&|\n])[ \t]*cd[ \t]+[\"']?(?P<target>/[\w./-]+)[\"']?[ \t]*(?:&&|;|\n)\s*"
    r"(?:(?:python3?[ \t]+-m|uv)[ \t]+)?pip3?[ \t]+install[ \t]+(?:-[\w-]+[ \t]+)*\.(?=[\s;&|\[]|\Z)"
)
"""`cd /app`, and `pip install -e .` next."""
_PROJECT_FILES = ("setup.py", "pyproject.toml")
_USUAL_BRANCHES = frozenset({"main", "master", "HEAD"})
_LONGEST = 20_000
_COMMON_NAMES = frozenset({
    "", "app", "apps", "code", "data", "examples", "home", "job", "jobs", "k8s", "kubernetes", "mnt", "opt", "project",
    "repo", "scripts", "src", "train", "training", "work", "workspace",
})  # fmt: skip
"""Names of repositories that folders of anything else have as well."""


class Checkout:
    """The files of the repository as the containers of one pod see them; none where the pod does not fetch it."""

    def __init__(self, spec: Part, context: Context) -> None:
        self._spec = spec
        self._context = context
        self._places: tuple[frozenset[str], tuple[str, ...]] | None = None
        self._copies: list[tuple[str, str]] = []
        self._other_branch = False
        """Whether a branch of it is fetched that may hold other files."""

    def files(self, path: str) -> PlacedText | None:
        """A file by its path in a container."""
        found = self._cloned(path)
        if found is not None:
            return found
        for source in self._sources(path):
            found = self._cloned(source)
            if found is not None:
                return found
        if (
            path.startswith("/")
            and not self._other_branch
            and self._context.object.file.repository.lower() not in _COMMON_NAMES
        ):
            return self._context.bundle.text_in_checkout(path, self._context.object.file)
        return None

    def _sources(self, path: str) -> Iterator[str]:
        """Where a file may have been copied from: as the target itself, below it, or into it under its own name."""
        for source, target in self._copies:
            if path == target:
                yield source
            elif path.startswith(target + "/"):
                rest = path[len(target) + 1 :]
                yield f"{source}/{rest}"
                yield posixpath.join(posixpath.dirname(source), rest)

    def _cloned(self, path: str) -> PlacedText | None:
        names, targets = self._found()
        for target in targets:
            if path.startswith(target + "/"):
                return in_repository(path[len(target) + 1 :], self._context)
        parts = path.split("/")
        for at, part in enumerate(parts[:-1]):
            if part in names:
                return in_repository("/".join(parts[at + 1 :]), self._context)
        return None

    def _is_project(self) -> bool:
        return any(in_repository(name, self._context) is not None for name in _PROJECT_FILES)

    def _found(self) -> tuple[frozenset[str], tuple[str, ...]]:
        """Names of folders that hold the repository, and whole paths of such: where it is fetched to, and, where it is
        a project, folders of a project that the pod installs without fetching it."""
        if self._places is None:
            names: set[str] = set()
            targets: set[str] = set()
            installs: list[str] = []
            own = self._context.object.file.repository
            texts = tuple(_texts(self._spec)) if own else ()
            for text in texts:
                if not _fetches(text, own):
                    installs += [found["target"].rstrip("/") for found in _INSTALLED.finditer(text)]
                    continue
                if not _usual_branch(text):
                    self._other_branch = True
                    continue
                names.add(own)
                names.update(found["name"] for found in _FOLDER.finditer(text))
                for found in _ADDRESS.finditer(text):
                    target = found["target"] or ""
                    if found["name"].lower() == own.lower() and target not in ("", ".", ".."):
                        (targets if target.startswith("/") else names).add(target.rstrip("/"))
            if installs and not self._is_project():
                installs = []
            self._places = frozenset(names), (*targets, *installs)
            if names:
                found_copies = (found for text in texts for found in _COPY.finditer(text))
                self._copies = [(one["source"].rstrip("/"), one["target"].rstrip("/")) for one in found_copies]
        return self._places


def is_own_archive(address: str, context: Context) -> bool:
    """Whether an address is that of an archive of the repository, as Ray takes it for a working directory."""
    found = _ARCHIVE.match(address)
    own = context.object.file.repository
    return found is not None and bool(own) and found["name"].lower() == own.lower()


def in_repository(path: str, context: Context) -> PlacedText | None:
    """A file by its path from the top folder of the repository."""
    return context.bundle.text_at_top(path, context.object.file)


def _fetches(text: str, own: str) -> bool:
    return own.lower() in text.lower() and any(
        found["name"].lower() == own.lower() for found in _ADDRESS.finditer(text)
    )


def _usual_branch(text: str) -> bool:
    """Another branch than the usual one may hold other files."""
    return all(found["name"] in _USUAL_BRANCHES for found in _BRANCH.finditer(text))


def _texts(spec: Part) -> Iterator[str]:
    """What each container of a pod is given: its words and the values of its variables, as one text."""
    for container in (*spec.at("initContainers").items(), *spec.at("containers").items()):
        words = (*container.at("command").items(), *container.at("args").items())
        values = (item.at("value") for item in container.at("env").items())
        text = "\n".join(_scalars((*words, *values)))
        if text:
            yield text[:_LONGEST]


def _scalars(parts: Iterable[Part]) -> Iterator[str]:
    return (part.node.text for part in parts if isinstance(part.node, Scalar))
