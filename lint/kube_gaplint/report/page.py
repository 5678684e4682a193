"""A rule's page, written in Markdown, set for a terminal.

Understood: headings, fenced blocks, lists, paragraphs, and links as `[text](address)`; what else there is stays as it
was written.
"""

from __future__ import annotations

import inspect
import re

from kube_gaplint.report.layout import Palette, hanging, wrapped

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^(#+)\s+(.*)$")
_ITEM = re.compile(r"^(\s*)([-*]|\d+\.)\s+(.*)$")
_LINK = re.compile(r"\[([^\]]+)\]\((\S+?)\)")
_CODE = re.compile(r"`([^`]+)`")


def page_lines(page: str, columns: int, palette: Palette) -> list[str]:
    """The page in lines; its first paragraph is the summary."""
    lines: list[str] = []
    block: list[str] = []

    def close() -> None:
        if block:
            lines.extend(_block(block, columns, palette))
            block.clear()

    fenced = False
    for line in inspect.cleandoc(page).splitlines():
        if _FENCE.match(line):
            close()
            fenced = not fenced
        elif fenced:
            lines.append(f"    {palette.second(line)}" if line else "")
        elif heading := _HEADING.match(line):
            close()
            lines.append(palette.bold(heading[2]))
        elif not line.strip():
            close()
            lines.append("")
        elif _ITEM.match(line):
            close()
            block.append(line)
        else:
            block.append(line)
    close()
    return lines


def _block(block: list[str], columns: int, palette: Palette) -> list[str]:
    item = _ITEM.match(block[0])
    words = " ".join(line.strip() for line in block)
    if item:
        label = f"{item[2]} "
        text = words[len(block[0].strip()) - len(item[3]) :]
        lines = hanging(label, _LINK.sub(r"\1 (\2)", text), columns, indent=2 + len(item[1]))
    else:
        lines = [f"  {line}" for line in wrapped(_LINK.sub(r"\1 (\2)", words), columns - 2)]
    return [_CODE.sub(lambda match: palette.second(f"`{match[1]}`"), line) for line in lines]
