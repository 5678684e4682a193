"""Reading of HTML pages as a browser reads them, without pardon for errors."""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element

import html5lib


class Page:
    """A page that is valid: an error of syntax raises `html5lib.html5parser.ParseError`."""

    def __init__(self, source: str) -> None:
        self.source = source
        parser: Any = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
        self.root: Element = parser.parse(source)

    def all(self, *names: str) -> list[Element]:
        """Elements of these names, in the order of the page; all of them where no name is given. SVG counts."""
        found = [item for item in self.root.iter() if isinstance(item.tag, str)]
        return [item for item in found if not names or _name(item) in names]

    def names(self) -> set[str]:
        return {_name(item) for item in self.all()}

    def attributes(self, name: str) -> list[str]:
        """The values of an attribute, wherever it stands."""
        return [value for item in self.all() for key, value in item.attrib.items() if _bare(key) == name]

    def attribute_names(self) -> set[str]:
        return {_bare(key) for item in self.all() for key in item.attrib}

    def outline(self) -> list[str]:
        """The headings, each with its level."""
        return [f"{item.tag} {said(item)}" for item in self.all("h1", "h2", "h3", "h4")]

    @property
    def text(self) -> str:
        return said(self.root)


def said(item: Element) -> str:
    """The text of an element on one line."""
    return re.sub(r"\s+", " ", "".join(item.itertext())).strip()


def _name(item: Element) -> str:
    return _bare(str(item.tag))


def _bare(name: str) -> str:
    return name.rpartition("}")[2]
