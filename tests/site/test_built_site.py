"""The built site: every link and anchor holds, and nothing comes from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from site_building import ROOT, Site

from docsite import sitemap

pytestmark = pytest.mark.slow


def test_every_page_is_there(site: Site) -> None:
    names = {path.relative_to(site.root).as_posix() for path in site.pages}
    wanted = [
        *sitemap.generated(),
        *(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")),
    ]
    for page in wanted:
        if not page.endswith(".md"):
            assert (site.root / page).is_file(), page
            continue
        folder = page.removesuffix(".md").removesuffix("README").removesuffix("index").strip("/")
        assert (f"{folder}/index.html" if folder else "index.html") in names, page


def test_links_and_anchors_hold(site: Site) -> None:
    assert site.broken() == []
    assert sum(len(site.read(page).links) for page in site.pages) > 5000


def test_nothing_is_loaded_from_elsewhere(site: Site) -> None:
    loaded = site.loaded()
    assert len(loaded) > 500
    assert [one for one in loaded if re.match(r"(?i)(\w+:)?//|\w+:(?<!data:)", one[1])] == []


def test_nothing_is_written_into_the_repository(site: Site) -> None:
    del site
    assert not [path for path in (ROOT / "docs").rglob("*") if path.is_file() and path.suffix != ".md"]


def test_no_page_shows_markup_that_was_not_understood(site: Site) -> None:
    for page in site.pages:
        text = re.sub(r"(?s)<(script|style|pre|code)\b.*?</\1>", "", page.read_text(encoding="utf-8"))
        text = re.sub(r"<[^>]*>", "", text)
        assert not re.search(r"\]\(|\{ [.#:]|^```|<!-- generated", text, re.M), Path(page).name
