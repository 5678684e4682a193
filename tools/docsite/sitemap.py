"""All pages that are not written by hand, and the order of the whole site."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from docsite import addresses, commands, graph, library, rules, sample, start
from docsite.addresses import ROOT
from docsite.text import relisted

_ASSETS = Path(__file__).parent / "assets"
MARKER = "<!-- generated: {} -->"
"""Where a page that is written by hand takes something in that is not."""


@cache
def generated() -> dict[str, str]:
    """The generated files of the site by their path: pages, data, schemas, styles and scripts."""
    found = {
        "index.md": start.page(ROOT),
        "commands.md": commands.page(),
        sample.PAGE: sample.report(),
        **{page: _of_repository(source, page) for source, page in addresses.OUTSIDE.items() if page in _AS_THEY_ARE},
        **rules.pages(),
        **library.pages(ROOT),
        "incidents/graph.md": graph.page(),
        "incidents/graph.json": graph.data(),
    }
    for source, target in addresses.OUTSIDE.items():
        if target.startswith("schemas/") and (ROOT / source).exists():
            found[target] = (ROOT / source).read_text(encoding="utf-8")
    for source in (*addresses.OUTSIDE, *(f"docs/{page}" for page in by_hand_pages())):
        if source.endswith(".md"):
            text = (ROOT / source).read_text(encoding="utf-8")
            for target, path in addresses.copies(text, source):
                found[target] = (ROOT / path).read_text(encoding="utf-8")
    for path in sorted(_ASSETS.iterdir()):
        found[f"assets/{path.name}"] = path.read_text(encoding="utf-8")
    return found


_AS_THEY_ARE = ("changelog.md", "contributing.md")


def _of_repository(source: str, page: str) -> str:
    text = (ROOT / source).read_text(encoding="utf-8")
    return relisted(addresses.rewritten(text, source, page))


def by_hand_pages() -> list[str]:
    """The pages of docs/."""
    return sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))


def by_hand(markdown: str, page: str) -> str:
    """A page of docs/ as the site shows it."""
    for name, made in (("not visible", library.not_visible),):
        marker = MARKER.format(name)
        if marker in markdown:
            markdown = markdown.replace(marker, made())
    return rules.linked(relisted(addresses.rewritten(markdown, f"docs/{page}", page)), page)


def navigation() -> list[object]:
    """The site's order. A page of docs/ that is missing here fails the build."""
    return [
        {"Start": "index.md"},
        {
            "Using it": [
                "installation.md", "commands.md", "configuration.md", "adoption.md", "cache.md", "plan.md",
                "editors.md",
            ]
        },
        {
            "In pipelines": [
                "ci/README.md", "ci/pre-commit.md", "ci/github.md", "ci/gitlab.md", "ci/buildkite.md", "ci/jenkins.md",
                "ci/gitops.md", "ci/pipes.md",
            ]
        },
        {"Rules": rules.navigation()},
        {"Incidents": library.navigation()},
        {
            "About": [
                "deciding.md", "not-visible.md", "limits.md", "accuracy.md", "comparison.md", "comparison-rules.md",
                "stability.md", "changelog.md", "contributing.md",
            ]
        },
    ]  # fmt: skip
