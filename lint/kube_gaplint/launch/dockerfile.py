"""What a Dockerfile says of its image: the image that it starts from and the commands that it runs.

Only that is read: `FROM` of the last stage (through the stages before it), `ARG` with a default, `RUN` in its shell
form and `COPY` for the files that a `RUN` reads. The grammar is that of the Dockerfile reference,
https://docs.docker.com/reference/dockerfile/. What a builder may decide (`--target`, `--build-arg`) counts as left
alone, and a name that only a build argument gives is unknown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.launch.shell import read_script
from kube_gaplint.model.command import Command
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Place, PlacedText

_INSTRUCTION = lazy_re.compile(r"\s*(?P<name>[A-Za-z]+)\s+(?P<rest>\S.*)\Z", re.DOTALL)
_FLAG = lazy_re.compile(r"--[a-z][\w-]*(?:=\S*)?\s+")
_VARIABLE = lazy_re.compile(r"\$(?:\{(?P<braced>\w+)(?::-(?P<default>[^}]*))?\}|(?P<bare>\w+))")
_MOST_INSTRUCTIONS = 2_000
_MOST_STAGES = 50


class Built(Struct, frozen=True):
    """An image as its Dockerfile builds it. `commands` run in order over what `base` holds."""

    base: Setting[str]
    commands: tuple[Command, ...]
    files: Callable[[str], PlacedText | None]


class _Stage(Struct):
    name: str
    base: Setting[str]
    before: _Stage | None
    commands: list[Command] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)

    def line(self) -> Iterator[_Stage]:
        """This stage and those that it is built upon, the first one first."""
        stages = [self]
        while stages[-1].before is not None:
            stages.append(stages[-1].before)
        yield from reversed(stages)


def read_dockerfile(text: PlacedText, beside: Callable[[str], PlacedText | None]) -> Built | None:
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
        elif name in {"COPY", "ADD"} and stages:
            stages[-1].copies.extend(_copied(rest))
    if not stages:
        return None
    line = list(stages[-1].line())
    copies = [pair for stage in line for pair in stage.copies]
    return Built(
        line[0].base,
        tuple(command for stage in line for command in stage.commands),
        lambda path: _file(path, copies, beside),
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
    return _Stage(name, base if before is None else before.base, before)


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


def _copied(rest: str) -> Iterator[tuple[str, str]]:
    if "--from" in rest:
        return  # from another stage, whose files are not in the build context
    words = _without_flags(rest).split()
    if len(words) < 2 or words[0].startswith("["):
        return
    target = words[-1]
    for source in words[:-1]:
        yield source, target


def _file(path: str, copies: list[tuple[str, str]], beside: Callable[[str], PlacedText | None]) -> PlacedText | None:
    """A file by its path in the image (or relative to a work folder that is not followed): by what was copied in."""
    for source, target in reversed(copies):
        name = posixpath.basename(source.rstrip("/"))
        if posixpath.basename(path) == name:
            return beside(source)
        folder = target.rstrip("/") + "/"
        if path.startswith(folder):
            return beside(posixpath.join(source, path[len(folder) :]))
    return None
