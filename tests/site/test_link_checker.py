"""The checker of the built site finds what is broken."""

from __future__ import annotations

from pathlib import Path

from site_building import Site


def test_broken_links_and_foreign_addresses_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">x</h1><a href="a/#b">1</a><a href="a/#c">2</a><a href="b/">3</a><a href="#top">4</a>'
        '<a href="https://x.example/y">5</a><a href="javascript:x()">6</a><a href="//x.example">7</a>'
        '<script src="https://x.example/z.js"></script>'
    )
    (tmp_path / "a" / "index.html").write_text('<p id="b"></p><a href="..">up</a><a href="../#none">y</a>')
    (tmp_path / "s.css").write_text("p { background: url('https://x.example/i.png') }")
    site = Site(tmp_path)
    assert site.broken() == [
        "a/index.html: ../#none: no such anchor",
        "index.html: a/#c: no such anchor",
        "index.html: b/: no such page",
        "index.html: javascript:x(): scheme javascript",
        "index.html: //x.example: scheme of the page",
    ]
    assert site.loaded() == [("index.html", "https://x.example/z.js"), ("s.css", "https://x.example/i.png")]
