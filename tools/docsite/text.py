"""Markdown for the site: plain text made safe, codes of rules made links, lists as Python-Markdown reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

_FENCE = re.compile(r"^\s*(```+|~~~+)")
_ITEM = re.compile(r"^(\s*)([-*+]|\d+[.)])(\s+)(?=\S)")
_SPECIAL = re.compile(r"[\\*_{}\[\]<>#!|~&$^=]")
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.S)
_KEPT = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|!?\[[^\]]*\]\([^)]*\)|https?://\S+", re.S)
"""What no link may be put into: code, links and addresses."""
_CODE = re.compile(r"\b[A-Z]{2,6}\d{3}\b")


def escaped(text: str) -> str:
    """Plain text, of which only code in backticks means something."""
    parts, at = [], 0
    for span in _CODE_SPAN.finditer(text):
        parts += [_entities(text[at : span.start()]), span[0]]
        at = span.end()
    return "".join([*parts, _entities(text[at:])]).replace("\n", " ")


def _entities(text: str) -> str:
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text)


def with_links(text: str, address: Callable[[str], str | None]) -> str:
    """Markdown whose codes of rules (`CKPT003`) are links, where `address` knows the code.

    Headings, code and what is a link already stay as they are.
    """
    out = []
    for fenced, line in _lines(text):
        out.append(line if fenced or line.startswith("#") else _linked(line, address))
    return "\n".join(out)


def _linked(line: str, address: Callable[[str], str | None]) -> str:
    def link(match: re.Match[str]) -> str:
        target = address(match[0])
        return match[0] if target is None else f"[{match[0]}]({target})"

    parts, at = [], 0
    for kept in _KEPT.finditer(line):
        parts += [_CODE.sub(link, line[at : kept.start()]), kept[0]]
        at = kept.end()
    return "".join([*parts, _CODE.sub(link, line[at:])])


def _lines(text: str) -> Iterator[tuple[bool, str]]:
    """The lines, each with whether it is part of a fenced block."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            yield True, line
        else:
            yield bool(fence), line


def relisted(text: str) -> str:
    """CommonMark lists as Python-Markdown wants them.

    What belongs to an item stands four columns further in, and a list starts after a blank line.
    """
    out: list[str] = []
    depths: list[int] = []
    """The columns at which the open items' content starts."""
    for fenced, line in _lines(text):
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        if not bare:
            out.append("")
            continue
        item = None if fenced else _ITEM.match(line)
        before_is_blank = not out or not out[-1].strip()
        if item or before_is_blank or indent == 0:
            while depths and indent < depths[-1]:
                depths.pop()
        shift = 4 * len(depths) - (depths[-1] if depths else 0)
        if item:
            if not before_is_blank and not depths and not _ITEM.match(out[-1]) and not out[-1].startswith(" "):
                out.append("")
            depths.append(len(item[0]))
            out.append(" " * (indent + shift) + f"{item[2]}{' ' * (4 - len(item[2]))}{bare[len(item[2]) :].lstrip()}")
        else:
            out.append(" " * max(indent + shift, 0) + bare)
    return "\n".join(out)


def title_of(markdown: str) -> str:
    """The first heading."""
    return next((line[2:].strip() for line in markdown.split("\n") if line.startswith("# ")), "")


def front(**values: object) -> str:
    """The head of a page that tells mkdocs about it; values as JSON, which is YAML."""
    rows = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items())
    return f"---\n{rows}---\n\n"
