"""The built site: built once for all tests, and read as a browser reads it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

ROOT = Path(__file__).parent.parent.parent
HAS_MKDOCS = find_spec("mkdocs") is not None and find_spec("material") is not None
_LOADED = {
    ("img", "src"), ("script", "src"), ("iframe", "src"), ("link", "href"), ("source", "src"), ("object", "data"),
    ("video", "src"), ("use", "href"), ("image", "href"),
}  # fmt: skip
"""Attributes whose address a browser loads without being asked."""


def build(target: Path) -> None:
    """Build the site as `make docs` does; a warning is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(target)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.base = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name in ("id", "name") and not (name == "name" and tag in ("meta", "input", "select")):
                self.ids.add(value)
            elif (tag, name) in _LOADED and dict(attributes).get("rel") != "canonical":
                self.loaded.append(value)
            elif name == "href":
                self.links.append(value)


class Site:
    """The files of a site, and the addresses in them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pages = sorted(path for path in root.rglob("*.html"))

    @cache  # noqa: B019  (one site lives as long as the tests do)
    def read(self, path: Path) -> _Reader:
        reader = _Reader()
        reader.feed(path.read_text(encoding="utf-8"))
        return reader

    def loaded(self) -> list[tuple[str, str]]:
        """What pages and style sheets make a browser load: the file that says so, and the address."""
        found = [(self._name(page), address) for page in self.pages for address in self.read(page).loaded]
        for sheet in self.root.rglob("*.css"):
            for address in re.findall(r"url\(\s*['\"]?([^'\")]+)", sheet.read_text(encoding="utf-8")):
                found.append((self._name(sheet), address))
            assert "@import" not in sheet.read_text(encoding="utf-8")
        return found

    def broken(self) -> list[str]:
        """Links within the site that lead nowhere, and anchors that are not there."""
        problems = []
        for page in self.pages:
            reader = self.read(page)
            for address in [*reader.links, *reader.loaded]:
                problem = self._problem(page, address)
                if problem:
                    problems.append(f"{self._name(page)}: {address}: {problem}")
        return problems

    def _problem(self, page: Path, address: str) -> str:
        parts = urlsplit(address)
        if parts.scheme or address.startswith("//"):
            return "" if parts.scheme in ("https", "data", "mailto") else f"scheme {parts.scheme or 'of the page'}"
        here = "/" + self._name(page)
        target = unquote(urlsplit(urljoin(here, address)).path)
        file = self.root / target.lstrip("/")
        if file.is_dir():
            file /= "index.html"
        if not file.is_file():
            return "no such page"
        if parts.fragment and file.suffix == ".html" and unquote(parts.fragment) not in self.read(file).ids:
            return "no such anchor"
        return ""

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()
