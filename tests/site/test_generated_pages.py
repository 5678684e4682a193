"""What the documentation site is given: all rules and incidents, as they are, and links to what is there."""

from __future__ import annotations

import json
import posixpath
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from docsite import addresses, graph, library, replays, rules, sitemap
from docsite.text import escaped, relisted, with_links
from kube_gaplint import incidents, registry
from kube_gaplint.cli.names import COMMANDS

ROOT = Path(__file__).parent.parent.parent
PAGES = sitemap.generated()
BY_HAND = {
    str(path.relative_to(ROOT / "docs")): path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")
}
ALL = PAGES | {page: sitemap.by_hand(text, page) for page, text in BY_HAND.items()}
MARKDOWN = {page: text for page, text in ALL.items() if page.endswith(".md")}


def without_code(markdown: str) -> str:
    return re.sub(r"(?ms)^ *```.*?^ *```$|`[^`\n]+`", "", markdown)


def test_every_rule_and_every_incident_has_a_page() -> None:
    for row in registry.rules():
        page = PAGES[addresses.rule(row.code)]
        rule = registry.load(row.code)
        assert rule.name in page
        assert f"since {rule.since}" in page
        assert str(rule.severity) in page
        assert page.count("\n## ") >= 8, row.code
    for one in incidents.all_incidents():
        page = PAGES[addresses.incident(one.id)]
        assert all(address in page for _, address in one.sources)
        assert all(
            f"({addresses.relative(addresses.rule(code), addresses.incident(one.id))})" in page for code in one.rules
        )


def test_a_rule_leads_to_all_of_its_evidence() -> None:
    for row in registry.rules():
        rule, page = registry.load(row.code), PAGES[addresses.rule(row.code)]
        for identifier in rule.evidence:
            assert f"(../incidents/{identifier}.md)" in page, row.code
        for identifier in rule.sources:
            document = incidents.document(identifier)
            assert (escaped(identifier) if document is None else document.address) in page


def test_nothing_is_given_twice() -> None:
    assert not set(PAGES) & set(BY_HAND)
    assert all(page == "ci/README.md" or posixpath.basename(page) != "README.md" for page in BY_HAND)


def test_links_lead_to_what_is_there() -> None:
    lost = []
    for page, text in MARKDOWN.items():
        for target in re.findall(r"\]\((?!\w+:)([^)\s#?]+)", without_code(text)):
            if posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) not in ALL:
                lost.append((page, target))
    assert lost == []


def listed(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part
    return [page for one in parts for page in listed(one)]  # type: ignore[attr-defined]


def test_the_navigation_holds_every_page_once() -> None:
    assert sorted(listed(sitemap.navigation())) == sorted(MARKDOWN)


def test_a_link_to_what_the_site_has_not_is_an_error() -> None:
    with pytest.raises(KeyError):
        addresses.rewritten("[x](../lint/kube_gaplint/no_such.py)", "docs/adoption.md", "adoption.md")
    with pytest.raises(KeyError):
        addresses.rewritten("[x](../LICENSE.md)", "docs/adoption.md", "adoption.md")
    moved = addresses.rewritten("[a](docs/ci/README.md#x) [b](https://c.example) [c](#d)", "README.md", "index.md")
    assert moved == "[a](ci/README.md#x) [b](https://c.example) [c](#d)"


def test_files_that_pages_lead_to_are_copied() -> None:
    text = "[x](../lint/kube_gaplint/facts/variables.tsv)"
    assert addresses.rewritten(text, "docs/a.md", "a.md") == "[x](repository/lint/kube_gaplint/facts/variables.tsv)"
    assert [*addresses.copies(text, "docs/a.md")] == [
        ("repository/lint/kube_gaplint/facts/variables.tsv", "lint/kube_gaplint/facts/variables.tsv")
    ]


def test_the_start_page_is_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for heading in re.findall(r"(?m)^## .*$", readme):
        assert heading in PAGES["index.md"]
    assert f"{len(registry.rules())} rules" in PAGES["index.md"]


def test_the_sample_is_a_report_with_curves() -> None:
    report = PAGES["sample-report.html"]
    assert report.startswith("<!DOCTYPE html>")
    assert report.count("<svg ") == 2
    assert str(ROOT) not in report


def test_commands() -> None:
    for name in COMMANDS:
        assert f"Usage: gaplint {name} " in PAGES["commands.md"]
    assert "--min-severity" in PAGES["commands.md"]


def test_schemas_are_copies() -> None:
    copies = [page for page in PAGES if page.startswith("schemas/")]
    assert len(copies) == 5
    for page in copies:
        assert json.loads(PAGES[page])["$schema"]


# The list of incidents


def test_the_list_can_be_narrowed_by_all_that_the_incidents_say() -> None:
    page = PAGES["incidents/index.md"]
    entries = re.findall(r"<li (data-.*?)>", page)
    assert len(entries) == len(incidents.all_incidents())
    for one, entry in zip(library.newest_first(), entries, strict=True):
        for facet, words in one.facets().items():
            assert f'data-{facet}="{" ".join(words)}"' in entry
            for word in words:
                assert f'name="{facet}" value="{word}"' in page
        assert f'data-rules="{" ".join(one.rules)}"' in entry
        assert f'data-years="{one.year}"' in entry


def test_chips_lead_to_words_of_the_list() -> None:
    known = incidents.vocabulary()
    found = 0
    for page in PAGES.values():
        for facet, word in re.findall(r"\(index\.md\?(\w+)=([\w-]+)\)", page):
            assert word in known[facet]
            found += 1
    assert found > len(incidents.all_incidents())


def test_what_no_manifest_shows_is_taken_from_the_incidents() -> None:
    page = sitemap.by_hand(BY_HAND["not-visible.md"], "not-visible.md")
    assert "generated:" not in page
    count = sum(len(one.not_visible) for one in incidents.all_incidents())
    assert page.count("](incidents/") == count > 50


# The graph


NODES = graph.nodes()
BY_ID = {node.id: node for node in NODES}


def test_the_graph_holds_the_links_of_the_library() -> None:
    for one in incidents.all_incidents():
        linked = {NODES[link].id for link in BY_ID[f"incident:{one.id}"].links}
        wanted = {f"cause:{word}" for word in one.causes} | {f"component:{word}" for word in one.components}
        wanted |= {f"symptom:{word}" for word in one.symptoms} | {f"rule:{code}" for code in one.rules}
        assert linked == wanted
    for number, node in enumerate(NODES):
        assert all(number in NODES[link].links for link in node.links)
    assert {node.label for node in NODES if node.kind == "rule"} == {
        c for c in rules.codes() if not c.startswith("GAP")
    }


def test_nothing_covers_anything_in_the_graph() -> None:
    height = graph.height_of(NODES)
    for node in NODES:
        assert 0 < node.x < graph.WIDTH
        assert graph.TOP <= node.y <= height
    columns: dict[float, list[float]] = {}
    for node in NODES:
        columns.setdefault(node.x, []).append(node.y)
    for ys in columns.values():
        assert all(low - high >= 14 for high, low in pairwise(sorted(ys)))  # labels are 11 high
    rows: dict[float, list[float]] = {}
    for node in NODES:
        if node.kind == "rule":
            rows.setdefault(node.y, []).append(node.x)
    for xs in rows.values():
        assert all(right - left >= 30 for left, right in pairwise(sorted(xs)))


def test_nodes_lead_to_pages() -> None:
    data: Any = json.loads(PAGES["incidents/graph.json"])
    assert [node["id"] for node in data["nodes"]] == [node.id for node in NODES]
    for node in data["nodes"]:
        path, _, query = node["href"].partition("?")
        assert f"{path.removesuffix('/')}.md" in MARKDOWN or f"{path}index.md" in MARKDOWN, node["href"]
        assert bool(query) == (node["kind"] in ("cause", "component", "symptom"))
        assert node["told"]


def test_the_layout_is_the_same_each_time() -> None:
    assert graph.data() == graph.data() == PAGES["incidents/graph.json"]


# Replays


def test_a_replay_marks_the_lines_without_their_marks(tmp_path: Path) -> None:
    folder = tmp_path / "fixtures" / "incidents" / "x"
    folder.mkdir(parents=True)
    (folder / "before.yaml").write_text(
        "a: 1  # expect: NCCL001 error\n# expect+2: CKPT003 warning\nb:\n  c: 2\n", encoding="utf-8"
    )
    (folder / "after.yaml").write_text("a: 2\n", encoding="utf-8")
    shown = replays.shown("x", tmp_path, "incidents/x.md")
    assert 'title="before.yaml" linenums="1" hl_lines="1 3"\n    a: 1\n    b:\n      c: 2\n    ```' in shown
    assert "- line 1: [NCCL001](../rules/NCCL001.md)" in shown
    assert "- line 3: [CKPT003](../rules/CKPT003.md)" in shown
    assert "expect" not in shown
    assert replays.shown("y", tmp_path, "incidents/y.md") == ""


@pytest.mark.parametrize("folder", sorted((ROOT / "fixtures" / "incidents").iterdir()), ids=lambda path: path.name)
def test_every_replay_is_shown(folder: Path) -> None:
    page = PAGES[addresses.incident(folder.name)]
    assert '=== "Before' in page
    assert "hl_lines" in page
    assert "expect:" not in page


# Markdown


@given(st.text(alphabet="ab *_{}[]<>#!|~&$^=\\-.1)", max_size=30))
def test_plain_text_stays_plain(text: str) -> None:
    rendered = MarkdownIt().render(f"x {escaped(text)} x")
    words = re.sub(r"<p>|</p>|\n", "", rendered)
    assert "<" not in words
    back = words.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")
    assert back.split() == f"x {text} x".split()


def test_code_in_backticks_stays_code() -> None:
    assert escaped("a `b_c | d` e_f") == "a `b_c | d` e&#95;f"


def test_codes_become_links_where_they_are_words() -> None:
    text = "# NCCL001\nNCCL001, `NCCL001` [NCCL001](x) https://a/NCCL001 aNCCL001\n```\nNCCL001\n```\nNCCL001"
    linked = with_links(text, lambda code: f"{code}.md")
    assert linked == (
        "# NCCL001\n[NCCL001](NCCL001.md), `NCCL001` [NCCL001](x) https://a/NCCL001 aNCCL001\n"
        "```\nNCCL001\n```\n[NCCL001](NCCL001.md)"
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a\n- b\n  c\n- d", "a\n\n-   b\n    c\n-   d"),
        (
            "1. a\n\n   ```x\n   y: 1\n     z: 2\n   ```\n2. b",
            "1.  a\n\n    ```x\n    y: 1\n      z: 2\n    ```\n2.  b",
        ),
        ("- a\n  - b\n    c\n\nd\n", "-   a\n    -   b\n        c\n\nd\n"),
        ("- a\nlazy\n\n    code", "-   a\nlazy\n\n    code"),
        ("```\n- a\n  - b\n```", "```\n- a\n  - b\n```"),
        ("a - b\n**c**", "a - b\n**c**"),
    ],
)
def test_lists_as_python_markdown_wants_them(text: str, wanted: str) -> None:
    assert relisted(text) == wanted
