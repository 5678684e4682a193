"""Commands for tests, out of one line of text: `$NAME` is an unknown unquoted word, `"$NAME"` a quoted one."""

from __future__ import annotations

import re

from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Place, Source, Span, WholeText

_TOKEN = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s"'])+""")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")


def words(text: str) -> tuple[Word, ...]:
    source = Source("words", text)
    return tuple(_word(match, source) for match in _TOKEN.finditer(text))


def _word(match: re.Match[str], source: Source) -> Word:
    token = match.group(0)
    place = Place(source, Span(*match.span()))
    multiple = False
    pieces: list[str | Unknown] = []
    for part in re.findall(r"\"[^\"]*\"|'[^']*'|[^\"']+", token):
        if part.startswith("'"):
            pieces.append(part[1:-1])
            continue
        quoted = part.startswith('"')
        inner = part[1:-1] if quoted else part
        at = 0
        for variable in _VARIABLE.finditer(inner):
            if inner[at : variable.start()]:
                pieces.append(inner[at : variable.start()])
            pieces.append(Unknown(f"${variable[1]} is not known", Origin(place)))
            multiple = multiple or not quoted
            at = variable.end()
        if inner[at:]:
            pieces.append(inner[at:])
    return Word(tuple(pieces) or ("",), place, multiple)


def environment(**variables: str) -> Environment:
    home = Origin(Place(Source("environment", ""), Span(0, 0)))
    values: dict[str, Setting[str]] = {name: Set(value, home) for name, value in variables.items()}
    return Environment(home, values)


def command(text: str, env: Environment | None = None) -> Command:
    parts = words(text)
    return Command(parts, env or environment(), Place(parts[0].place.source, Span(0, len(text))))


def placed(text: str, path: str = "file") -> WholeText:
    return WholeText(Source(path, text))
