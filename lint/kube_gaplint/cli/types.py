"""Kinds of option values, and options in groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from kube_gaplint.cli.failure import did_you_mean
from kube_gaplint.report.escape import visible

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Near(click.Choice[str]):
    """One of some names; a misspelt one is answered with the nearest."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        wanted = str(value).lower()
        names = [str(name) for name in self.choices]
        if wanted not in names:
            near = did_you_mean(wanted, names)
            self.fail(f"{visible(str(value))!r} is not one of {', '.join(names)}.{near}", param, ctx)
        return wanted


class File(click.ParamType[str]):
    """The path of a file, as it is given; a shell completes it as one."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        del param, ctx
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        del ctx, param
        return [CompletionItem(incomplete, type="file")]


class CommaList(click.ParamType[tuple[str, ...]]):
    """Names with commas between them."""

    name = "list"

    def __init__(self, needs: str = "it names no rule; give a CODE, a FAMILY or a name.") -> None:
        """`needs` is the answer to a list without a name."""
        self.needs = needs

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in str(value).split(",") if name.strip())
        if not names:
            self.fail(self.needs, param, ctx)
        return names


class RuleList(CommaList):
    """Codes, families or names of rules with commas between them."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from kube_gaplint import registry

        del ctx, param
        before, comma, last = incomplete.rpartition(",")
        rows = registry.rules()
        named = {row.family: f"the rules {row.family}" for row in rows} | {row.code: row.name for row in rows}
        wanted = last.upper()
        return [
            CompletionItem(f"{before}{comma}{name}", help=told)
            for name, told in sorted(named.items())
            if name.startswith(wanted)
        ]


class RuleName(click.ParamType[str]):
    """A code, family or name of rules; whether there is one is found out later, with better words."""

    name = "rule"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        del param, ctx
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return RuleList().shell_complete(ctx, param, incomplete)


class IncidentId(click.ParamType[str]):
    """The id of an incident, in upper or lower case; a misspelt one is answered with the nearest."""

    name = "incident"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from kube_gaplint import incidents

        found = incidents.incident(str(value))
        if found is None:
            near = incidents.near(str(value))
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            all_of_them = "`gaplint incidents` lists all incidents."
            self.fail(f"there is no incident {str(value)!r}.{hint} {all_of_them}", param, ctx)
        return found.id

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del ctx, param
        return incident_items(incomplete)


def incident_items(incomplete: str) -> list[CompletionItem]:
    """The incidents whose ids begin so, with their titles."""
    from click.shell_completion import CompletionItem

    from kube_gaplint import incidents

    begun = [name for name in incidents.ids() if name.lower().startswith(incomplete.lower())]
    found = (incidents.incident(name) for name in begun)
    return [CompletionItem(incident.id, help=incident.title) for incident in found if incident is not None]


class OutputFile(Struct, frozen=True):
    """A report to write beside the one on standard output."""

    format: str
    path: Path


class FormatAndFile(click.ParamType[OutputFile]):
    """FORMAT=FILE."""

    name = "FORMAT=FILE"

    def __init__(self, formats: Sequence[str]) -> None:
        self.formats = tuple(formats)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> OutputFile:
        if isinstance(value, OutputFile):
            return value
        name, equals, file = str(value).partition("=")
        if not equals or not file:
            self.fail(f"{visible(str(value))!r} is not FORMAT=FILE, as in json=gaplint.json.", param, ctx)
        if name.lower() not in self.formats:
            near = did_you_mean(name.lower(), self.formats)
            self.fail(f"there is no format {visible(name)!r}; there are {', '.join(self.formats)}.{near}", param, ctx)
        if file == "-":
            self.fail(f"'-' names no file; to standard output: --format {name.lower()}.", param, ctx)
        path = Path(file)
        try:
            if path.is_dir():
                self.fail(f"{visible(file)!r} is a folder; name a file in it.", param, ctx)
            if not path.parent.is_dir():
                self.fail(f"the folder of {visible(file)!r} does not exist.", param, ctx)
            if _is_source(path):
                self.fail(f"{visible(file)!r} is there and is no report; name another file.", param, ctx)
        except OSError as problem:
            self.fail(f"{visible(file)!r} cannot be written: {problem.strerror}.", param, ctx)
        return OutputFile(name.lower(), path)


def _is_source(path: Path) -> bool:
    from kube_gaplint import disk
    from kube_gaplint.discover import is_source

    return is_source(disk.real(str(path)))


class Jobs(click.ParamType[int]):
    """A number of processes; `auto` is 0."""

    name = "jobs"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if text != "auto" and not (text.isascii() and text.isdigit()):
            self.fail(f"{visible(text)!r} is not a number of processes.", param, ctx)
        return 0 if text == "auto" else int(text[:6])


class Grouped(click.Option):
    """An option that stands in a group of the help."""

    def __init__(self, *arguments: Any, group: str = "Other", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help shows its options by group, then `after`: titled blocks of text as they are."""

    def __init__(self, *arguments: Any, after: Sequence[tuple[str, str]] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.after = tuple(after)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                groups.setdefault(getattr(parameter, "group", "Other"), []).append(record)
        for title, rows in sorted(groups.items(), key=lambda item: item[0] == "Other"):
            with formatter.section(title):
                formatter.write_dl(rows, col_max=32)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        for title, text in self.after:
            with formatter.section(title):
                for line in text.splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line}".rstrip() + "\n")
