"""HTML put together from elements, so that no text from outside can become markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TypeAlias

from kube_gaplint.report.escape import visible


class Html(str):
    """Markup that is finished: it goes into a page as it is. All other text is escaped."""

    __slots__ = ()


Content: TypeAlias = "str | Iterable[Content] | None"
"""What stands in an element: text (escaped), `Html` (as it is), nothing, or several of these."""


_VOID = frozenset({"meta"})
_ON_ITS_OWN_LINE = frozenset({
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "nav", "section", "article", "table",
    "tr", "ul", "ol", "li", "dl", "dt", "dd", "details", "summary", "p", "h1", "h2", "h3", "h4", "td", "th", "caption",
})  # fmt: skip


def tag(name: str, /, *content: Content, **attributes: str | int | float | bool | None) -> Html:
    """An element. An attribute that is None or False is left out, one that is True has no value.

    A `_` at the end of an attribute's name is dropped, others become `-`: `class_`, `aria_label`.
    """
    given = "".join(map(_attribute, attributes.items()))
    end = "\n" if name in _ON_ITS_OWN_LINE else ""
    if name in _VOID:
        return Html(f"<{name}{given}>{end}")
    return Html(f"<{name}{given}>{markup(content)}</{name}>{end}")


def markup(content: Content) -> Html:
    """Content without an element around it."""
    if content is None:
        return Html()
    if isinstance(content, Html):
        return content
    if isinstance(content, str):
        return Html(escape(visible(content)))
    return Html("".join(map(markup, content)))


def _attribute(item: tuple[str, str | int | float | bool | None]) -> str:
    name, value = item
    name = name.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(visible(str(value)))}"'


def link(address: str, *content: Content) -> Html:
    """A link to another site; only text where the address is none of the web."""
    if not address.startswith(("https://", "http://")):
        return markup(content)
    return tag("a", *content, href=address, rel="noreferrer noopener")


def name(text: str) -> Html:
    """A name or path from outside, set apart: letters that run from right to left turn nothing around it."""
    return tag("bdi", text)


def prose(text: str) -> Html:
    """Sentences, in which code may stand in backticks."""
    parts = text.split("`")
    last = len(parts) - 1
    return markup([tag("code", part) if at % 2 and at < last else _stray(part, at) for at, part in enumerate(parts)])


def _stray(part: str, at: int) -> str:
    """A part that is no code; a backtick that is never closed stays."""
    return f"`{part}" if at % 2 else part


def place(text: str) -> Html:
    """A paragraph that says where something stands."""
    return tag("p", name(text), class_="place")


def scrolling(title: str, *content: Content) -> Html:
    """What may be wider than the page: it scrolls by itself, also by the keyboard."""
    return tag("div", *content, class_="scroll", tabindex=0, role="group", aria_label=title)


def table(title: str, heads: Iterable[str], rows: Content) -> Html:
    """A table with a row of headings."""
    head = tag("tr", [tag("th", text, scope="col") for text in heads])
    return scrolling(title, tag("table", head, rows, class_="grid"))


_FEW = 12


def folded(title: str, items: Sequence[Html]) -> Html | None:
    """A list under its title, shut where it is long; None where it is empty."""
    if not items:
        return None
    return tag("details", tag("summary", title), tag("ul", items), class_="list", open=len(items) <= _FEW)


def facts(rows: Iterable[tuple[str, Content]]) -> Html | None:
    """Labels with what is said under each; None where there is none."""
    cells = [[tag("dt", label), tag("dd", content)] for label, content in rows]
    return tag("dl", cells, class_="facts") if cells else None
