"""What a Dockerfile says of its image: the image that it starts from and the commands that it runs.

Only that is read: `FROM` of the last stage (through the stages before it), `ARG` with a default, `RUN` in its shell
form, `ENTRYPOINT` and `CMD` in their exec form, and `COPY` and `WORKDIR` for the files that a `RUN` or a container
reads. The grammar is that of the Dockerfile
reference, https://docs.docker.com/reference/dockerfile/. What a builder may decide (`--target`, `--build-arg`) counts
as left alone, and a name that only a build argument gives is unknown.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.bundle.recipes import Recipe
from kube_gaplint.launch.shell import read_script
from kube_gaplint.lazy_re import globs
from kube_gaplint.model.command import Command
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Files, Place, PlacedText

_INSTRUCTION = lazy_re.compile(r"\s*(?P<name>[A-Za-z]+)\s+(?P<rest>\S.*)\Z", re.DOTALL)
_FLAG = lazy_re.compile(r"--[a-z][\w-]*(?:=\S*)?\s+")
_VARIABLE = lazy_re.compile(r"\$(?:\{(?P<braced>\w+)(?::-(?P<default>[^}]*))?\}|(?P<bare>\w+))")
_MOST_INSTRUCTIONS = 2_000
_MOST_STAGES = 50


class Built(Struct, frozen=True):
    """An image as its Dockerfile builds it. `commands` run in order over what `base` holds."""

    base: Setting[str]
    commands: tuple[Command, ...]
    files: Files
    """What a `RUN` reads by a path, which may be relative to a folder that is not followed."""
    holds: Files
    """What a container finds by a path; a relative one stands in the last WORKDIR."""
    variables: dict[str, Setting[str]] = field(default_factory=dict)
    """What ENV sets, besides what the base image has set."""
    folder: str = ""
    """The WORKDIR in which its container starts; empty where the base image or a build argument decides it."""
    entry: tuple[str, ...] = ()
    """The words of its ENTRYPOINT; empty where it has none, or none in the exec form."""
    arguments: tuple[str, ...] = ()
    """The words of its CMD, which come behind them unless the manifest gives others."""


class _Copy(Struct, frozen=True):
    """A file or folder of the build context, and where it goes."""

    source: str
    target: str
    folder: str
    """The WORKDIR in force, which a relative target stands in; empty where the base image decides it."""


class _Stage(Struct):
    name: str
    base: Setting[str]
    before: _Stage | None
    commands: list[Command] = field(default_factory=list)
    copies: list[_Copy] = field(default_factory=list)
    folder: str = ""
    sure_folder: bool = False
    """No build argument without a default stands in it."""
    variables: dict[str, Setting[str]] = field(default_factory=dict)
    entry: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    def line(self) -> Iterator[_Stage]:
        """This stage and those that it is built upon, the first one first."""
        stages = [self]
        while stages[-1].before is not None:
            stages.append(stages[-1].before)
        yield from reversed(stages)


@lru_cache(maxsize=64)
def built(recipe: Recipe) -> Built | None:
    """A Dockerfile as it is read; many manifests of a repository name the same one."""
    return read_dockerfile(recipe.text, recipe.files)


def image_files(recipes: Sequence[Recipe]) -> Files:
    """A look-up of files by the path at which a container sees them in its image, as far as they are copied from the
    repository. Where several Dockerfiles may be the image's, they have to agree."""

    def look_up(path: str) -> PlacedText | None:
        found: PlacedText | None = None
        for recipe in recipes:
            image = built(recipe)
            text = None if image is None else image.holds(path)
            if text is None:
                continue
            if found is not None and found.place(0, 0) != text.place(0, 0):
                return None
            found = text
        return found

    return look_up


def read_dockerfile(text: PlacedText, beside: Files) -> Built | None:
    """Read a Dockerfile; None where it has no stage. `beside` gives the files of the build context by path."""
    arguments: dict[str, str] = {}
    stages: list[_Stage] = []
    for name, rest, start, end in _instructions(text.text):
        place = text.place(start, end)
        if name == "ARG":
            key, equals, value = rest.partition("=")
            if equals:
                arguments[key.strip()] = value.strip().strip("\"'")
            elif not stages:
                arguments.pop(key.strip(), None)
        elif name == "FROM" and len(stages) < _MOST_STAGES:
            stages.append(_stage(rest, stages, arguments, place))
        elif name == "RUN" and stages:
            stages[-1].commands.extend(_run(rest, place))
        elif name == "ENV" and stages:
            stages[-1].variables.update(_variables(rest, arguments, stages[-1].variables, place))
        elif name == "WORKDIR" and stages:
            path, missing = _filled(rest.strip("\"'"), arguments)
            stages[-1].folder = posixpath.join(stages[-1].folder, path)
            stages[-1].sure_folder = not missing and (path.startswith("/") or stages[-1].sure_folder)
        elif name == "ENTRYPOINT" and stages:
            stages[-1].entry, stages[-1].arguments = _exec_form(rest), ()  # a CMD of the base image counts no more
        elif name == "CMD" and stages:
            stages[-1].arguments = _exec_form(rest)
        elif name in {"COPY", "ADD"} and stages:
            stages[-1].copies.extend(_copied(rest, stages[-1].folder))
    if not stages:
        return None
    line = list(stages[-1].line())
    copies = [one for stage in line for one in stage.copies]
    folder = stages[-1].folder
    return Built(
        line[0].base,
        tuple(command for stage in line for command in stage.commands),
        lambda path: _file(path, copies, beside),
        lambda path: _held(posixpath.join(folder, path), copies, beside),
        stages[-1].variables,
        posixpath.normpath(folder) if stages[-1].sure_folder else "",
        stages[-1].entry,
        stages[-1].arguments,
    )


def _instructions(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Each instruction: its name, its arguments with continued lines and comments inside taken out, and its span."""
    at, count = 0, 0
    lines = text.splitlines(keepends=True)
    parts: list[str] = []
    start = end = 0
    for line in lines:
        bare = line.rstrip()
        first = at
        at += len(line)
        if bare.lstrip().startswith("#") or (parts and not bare):
            continue  # comments and empty lines do not end an instruction
        if not bare:
            continue
        if not parts:
            start = first
        end = first + len(bare)
        continued = bare.endswith("\\")
        parts.append(bare[:-1] + " " if continued else bare)
        if continued:
            continue
        found = _INSTRUCTION.match("".join(parts))
        parts = []
        if found is not None:
            count += 1
            if count > _MOST_INSTRUCTIONS:
                return
            yield found["name"].upper(), found["rest"].strip(), start, end


def _without_flags(rest: str) -> str:
    while (found := _FLAG.match(rest)) is not None:
        rest = rest[found.end() :]
    return rest


def _stage(rest: str, stages: list[_Stage], arguments: dict[str, str], place: Place) -> _Stage:
    words = _without_flags(rest).split()
    name = words[2].lower() if len(words) > 2 and words[1].lower() == "as" else ""
    image, missing = _filled(words[0] if words else "", arguments)
    before = next((stage for stage in reversed(stages) if stage.name and stage.name == image.lower()), None)
    origin = Origin(place)
    base: Setting[str] = Set(image, origin)
    if missing:
        base = Unknown(f"the build argument {missing} gives it", origin)
    if before is None:
        return _Stage(name, base, None)
    return _Stage(
        name,
        before.base,
        before,
        folder=before.folder,
        sure_folder=before.sure_folder,
        variables=dict(before.variables),
        entry=before.entry,
        arguments=before.arguments,
    )


def _filled(text: str, arguments: dict[str, str]) -> tuple[str, str]:
    """The text with build arguments filled in, and the first one that has no default."""
    missing = ""

    def fill(found: re.Match[str]) -> str:
        nonlocal missing
        name = found["braced"] or found["bare"]
        value = arguments.get(name) or found["default"]
        if not value:
            missing = missing or name
            return ""
        return value

    return _VARIABLE.sub(fill, text), missing


_PAIR = lazy_re.compile(r"""([A-Za-z_]\w*)=((?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\])*)""")


def _variables(
    rest: str, arguments: dict[str, str], before: dict[str, Setting[str]], place: Place
) -> Iterator[tuple[str, Setting[str]]]:
    """`ENV NAME=value …`, or the old form `ENV NAME value`."""
    pairs = [(found[1], found[2]) for found in _PAIR.finditer(rest)]
    first, _, value = rest.partition(" ")
    if "=" not in first:
        pairs = [(first, value.strip())]
    known = {**arguments, **{name: one.value for name, one in before.items() if isinstance(one, Set)}}
    for name, text in pairs:
        filled, missing = _filled(text.replace('"', "").replace("'", "").replace("\\ ", " "), known)
        origin = Origin(place, "injected", "the image's Dockerfile")
        yield name, Unknown(f"{missing} is not known in the Dockerfile", origin) if missing else Set(filled, origin)


class _Joined(Struct, frozen=True):
    """A command whose lines were joined: every part of it stands at the whole instruction."""

    text: str
    whole: Place

    def place(self, start: int, end: int) -> Place:  # noqa: ARG002 - the protocol's; lines were joined
        return self.whole


def _run(rest: str, place: Place) -> list[Command]:
    body = _without_flags(rest)
    if body.startswith("["):
        return []  # the exec form names no shell command that installs with options we read
    return read_script(_Joined(body, place), Environment(Origin(place)), shell="sh").commands


def _exec_form(rest: str) -> tuple[str, ...]:
    """The words of `["torchrun", "train.py"]`; none of the shell form, which is a text for `sh -c`."""
    try:
        words = json.loads(rest)
    except (ValueError, RecursionError):
        return ()
    return tuple(words) if isinstance(words, list) and all(isinstance(word, str) for word in words) else ()


def _copied(rest: str, folder: str) -> Iterator[_Copy]:
    if "--from" in rest:
        return  # from another stage, whose files are not in the build context
    words = _without_flags(rest).split()
    if words and words[0].startswith("["):
        words = re.findall(r'"([^"]*)"', rest)
    for source in words[:-1]:
        yield _Copy(source, words[-1], folder)


def _file(path: str, copies: list[_Copy], beside: Files) -> PlacedText | None:
    """A file by its path in the image (or relative to a work folder that is not followed): by what was copied in."""
    for copy in reversed(copies):
        name = posixpath.basename(copy.source.rstrip("/"))
        if posixpath.basename(path) == name:
            return beside(copy.source)
        folder = copy.target.rstrip("/") + "/"
        if path.startswith(folder):
            return beside(posixpath.join(copy.source, path[len(folder) :]))
    return None


def _held(path: str, copies: list[_Copy], beside: Files) -> PlacedText | None:
    """A file by its path in the image: copied there by itself, into a folder, or with the folder that it lies in."""
    wanted = posixpath.normpath(path)
    for copy in reversed(copies):
        source = copy.source.removeprefix("/") or "."  # the root of the build context
        target = posixpath.normpath(posixpath.join(copy.folder, copy.target))
        name = posixpath.basename(source.rstrip("/"))
        inside = (
            wanted if target == "." and not wanted.startswith("/") else wanted.removeprefix(target.rstrip("/") + "/")
        )
        found = None
        if "*" in name:
            if globs(inside, name):
                found = beside(posixpath.join(posixpath.dirname(source), inside))
        elif wanted == target or (inside != wanted and inside == name):
            found = beside(source)
        elif inside != wanted or target == ".":
            found = beside(posixpath.join(source, inside))
        if found is not None:
            return found
    return None
