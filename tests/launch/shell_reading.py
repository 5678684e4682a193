"""Scripts for tests: read a text as a script and show what came out in short forms."""

from __future__ import annotations

from collections.abc import Mapping

from kube_gaplint.launch.shell import read_script
from kube_gaplint.model.command import Command, Script, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Files, Place, Source, Span, WholeText, no_files

UNKNOWN = "…"


def whole(text: str, path: str = "job.sh") -> WholeText:
    return WholeText(Source(path, text))


def environment_of(variables: Mapping[str, str] | None = None, open_because: str = "") -> Environment:
    source = Source("pod.yaml", "".join(f"{name}={value}\n" for name, value in (variables or {}).items()))
    given: dict[str, Setting[str]] = {}
    at = 0
    for name, value in (variables or {}).items():
        start = at + len(name) + 1
        given[name] = Set(value, Origin(Place(source, Span(start, start + len(value)))))
        at = start + len(value) + 1
    return Environment(Origin(Place(source, Span(0, 0))), given, open_because)


def script_of(
    text: str,
    variables: Mapping[str, str] | None = None,
    *,
    open_because: str = "",
    files: Mapping[str, str] | None = None,
    arguments: tuple[Word, ...] | None = (),
    shell: str = "",
) -> Script:
    known = {path: whole(content, path) for path, content in (files or {}).items()}
    return read_script(
        whole(text),
        environment_of(variables, open_because),
        files=known.get if known else no_files,
        arguments=arguments,
        shell=shell,
    )


def argv(command: Command) -> list[str]:
    return [word.shown for word in command.words]


def programs(script: Script, *names: str) -> list[Command]:
    """The commands of these names (`run` without any): what a test looks at among `export`, `cd` and the like."""
    wanted = names or ("run",)
    return [command for command in script.commands if command.name in wanted]


def run_of(text: str, variables: Mapping[str, str] | None = None, **options: str) -> Command:
    """The only command called `run`."""
    (command,) = programs(script_of(text, variables, **options))
    return command


def words_of(text: str, variables: Mapping[str, str] | None = None, **options: str) -> list[str]:
    """The arguments of the only command called `run`; unknown parts as an ellipsis."""
    return argv(run_of(text, variables, **options))[1:]


def places_of(command: Command) -> list[str]:
    """What stands in the file where each argument points."""
    return [word.place.text for word in command.words[1:]]


def value(setting: Setting[str] | None) -> str | None:
    """A set value; None for an unknown one; "-" for an absent one."""
    if isinstance(setting, Set):
        return setting.value
    return None if isinstance(setting, Unknown) else "-" if isinstance(setting, Absent) else "?"


def literal(text: str) -> tuple[Word, ...]:
    """Words as an exec array of a manifest has them, one a line."""
    source = Source("pod.yaml", text)
    out: list[Word] = []
    at = 0
    for line in text.split("\n"):
        if line:
            out.append(Word((line,), Place(source, Span(at, at + len(line)))))
        at += len(line) + 1
    return tuple(out)


__all__ = ["Files"]
