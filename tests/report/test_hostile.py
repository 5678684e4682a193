"""Whatever names and values a repository holds, a report shows them without obeying them."""

from __future__ import annotations

import json
import re
import unicodedata

import jsonschema
import pytest
from consumers import github_annotations, github_commands
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import finding, incident
from test_machine_formats import SCHEMA

from kube_gaplint.findings import FileError, Finding, Fix, Related, Report, Severity, Suppressed
from kube_gaplint.model.setting import Link, Origin
from kube_gaplint.model.subject import Subject
from kube_gaplint.report import FORMATS, render
from kube_gaplint.report.escape import visible
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.text.source import Place, Source, Span

NASTY = st.sampled_from([
    "\x1b[31m", "\r", "\n", "\t", "\x00", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\udcff",
    "\ud800", "::error file=x::y", "\n::stop-commands::z", "##[set-output name=a]b", "##vso[task.x]", "%0A", "%",
    ",", ":", "訓", "e\u0301", "\U000e0041", "]]>", "<a>&", '"', "'", "`", "| |", "[x](javascript:y)",
])  # fmt: skip
WORDS = st.lists(st.lists(NASTY | st.text(max_size=6), max_size=5).map("".join), min_size=4, max_size=8)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Reports put together from a few hostile words."""
    words = draw(WORDS)
    choose = draw(st.randoms(use_true_random=False))

    def word() -> str:
        return choose.choice(words)

    def some() -> str:
        return word() or "x"

    def place() -> Place:
        content = word() + word()
        start = choose.randint(0, len(content))
        return Place(Source(some(), content), Span(start, choose.randint(start, len(content))))

    def one() -> Finding:
        links = tuple(Link(place(), word()) for _ in range(choose.randint(0, 1)))
        return finding(
            Origin(place(), via=choose.choice(["written", "default"]), note=word(), chain=links),
            message=some(),
            consequence=word(),
            subject=Subject(word(), word(), word(), word(), word()),
            severity=choose.choice([*Severity]),
            related=tuple(Related(Origin(place()), word()) for _ in range(choose.randint(0, 2))),
            fix=choose.choice([None, Fix(word())]),
            suppressed=choose.choice([None, None, Suppressed(word(), choose.choice([None, place()]), word())]),
        )

    report = Report(findings=[one() for _ in range(choose.randint(0, 3))])
    report.errors = [FileError(some(), word()) for _ in range(choose.randint(0, 2))]
    report.summary.skipped = {word(): choose.randint(1, 5)}
    report.summary.hints = [word() for _ in range(choose.randint(0, 5))]
    report.summary.by_kind = {word(): choose.randint(1, 5)}
    return report


def options(**changes: object) -> RenderOptions:
    settings: dict[str, object] = {"width": 80, "incident": incident, "statistics": True} | changes
    return RenderOptions(**settings)  # type: ignore[arg-type]


def raw(text: str) -> list[str]:
    """The characters that a terminal would obey instead of showing them."""
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"]


@pytest.mark.parametrize("name", FORMATS)
@given(report=reports(), width=st.integers(1, 200), ascii_only=st.booleans())
@settings(max_examples=20, deadline=None)
def test_no_raw_control_characters(name: str, report: Report, width: int, ascii_only: bool) -> None:
    shown = render(name, report, options(width=width, ascii_only=ascii_only))
    assert raw(shown) == []
    shown.encode()  # nothing that UTF-8 cannot carry
    if ascii_only and name in ("full", "concise"):
        assert shown.isascii()


@given(report=reports())
@settings(max_examples=40, deadline=None)
def test_github_prints_one_annotation_for_a_finding(report: Report) -> None:
    live = [item for item in report.findings if item.suppressed is None]
    annotations = github_annotations(render("github", report, options()))
    for annotation, item in zip(annotations, live, strict=True):
        assert annotation.name == {"error": "error", "warning": "warning", "info": "notice"}[str(item.severity)]
        assert annotation.properties["file"] == visible(item.place.source.path)
        assert annotation.properties["line"] == str(item.place.start.line)
        assert annotation.data.split("\n")[0] == visible(item.message)


@pytest.mark.parametrize("name", ["full", "concise"])
@given(report=reports(), width=st.integers(1, 120), color=st.booleans())
@settings(max_examples=40, deadline=None)
def test_text_reports_hold_no_command_for_a_runner(name: str, report: Report, width: int, color: bool) -> None:
    shown = render(name, report, options(width=width, color=color))
    assert github_commands(re.sub(r"\x1b\[[0-9;]*m", "", shown)) == []
    assert "##vso[" not in shown


@given(report=reports())
@settings(max_examples=20, deadline=None)
def test_json_is_valid_and_follows_the_schema(report: Report) -> None:
    shown = render("json", report, options())
    assert shown.isascii()
    jsonschema.validate(json.loads(shown), SCHEMA)
    for line in render("jsonl", report, options()).splitlines():
        json.loads(line)


@given(text=WORDS.map("".join))
def test_visible_keeps_what_prints(text: str) -> None:
    assert raw(visible(text)) == []
    assert "\n" not in visible(text)
    plain = "".join(c for c in text if c.isprintable() and c not in "#")
    assert visible(plain) == plain


def test_a_command_at_the_start_of_a_wrapped_line() -> None:
    place = Place(Source("::error::x", "a: 1\n"), Span(0, 1))
    report = Report(findings=[finding(Origin(place), message=f"{'x' * 70} ::error::y", consequence="##[group]z")])
    report.errors = [FileError("::warning::", "::debug::")]
    for name in ("full", "concise"):
        shown = render(name, report, options())
        assert github_commands(shown) == []
        assert "\\x3a:error::" in shown
