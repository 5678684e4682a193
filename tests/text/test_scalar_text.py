"""Every character of a scalar is found where the file writes it."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import ScalarText, scalar_text
from kube_gaplint.text.source import Source, Span

BLANKS = " \t\r\n\x85\u2028\u2029"


def read(text: str) -> ScalarText | None:
    """The first value of a mapping, with places; None where the text is no such YAML."""
    documents = compose(Source("f.yaml", text)).documents
    root = documents[0].root if documents else None
    entries = getattr(root, "entries", [])
    if not entries or not isinstance(entries[0].value, Scalar):
        return None
    return scalar_text(entries[0].value)


def check(text: str) -> ScalarText | None:
    placed = read(text)
    if placed is None:
        return None
    assert placed.exact, (text, placed.text)
    before = placed.node.span.start
    for index, character in enumerate(placed.text):
        place = placed.place(index, index + 1)
        shown = place.text
        assert place.span.start >= before, "places run forward"
        before = place.span.end
        if shown == character:
            continue
        escaped = placed.node.style == "double" and shown.startswith("\\")
        doubled = placed.node.style == "single" and (character, shown) == ("'", "''")
        folded = character in " \n" and shown and not shown.strip(BLANKS)
        assert escaped or doubled or folded, (text, character, shown)
    whole = placed.place(0, len(placed.text))
    assert placed.node.span.start <= whole.span.start <= whole.span.end
    return placed


def shown(text: str, part: str) -> str:
    placed = check(text)
    assert placed is not None
    start = placed.text.index(part)
    return placed.place(start, start + len(part)).text


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_literal_lines_stand_behind_their_indentation(newline: str) -> None:
    text = newline.join(["a: |", "    echo é😀", "", "      indented", "    end", "b: 1", ""])
    assert shown(text, "indented") == "indented"
    placed = check(text)
    assert placed is not None
    start = placed.text.index("  indented")
    assert placed.place(start, start + 10).text == "  indented"
    assert placed.text == "echo é😀\n\n  indented\nend\n"


def test_indentation_indicator_leaves_leading_blanks_to_the_text() -> None:
    placed = check("a:\n  b: 1\nc: 2\n")  # not a scalar
    assert placed is None
    placed = check("a: |2\n    deep\n  text\n")
    assert placed is not None
    assert placed.text == "  deep\ntext\n"
    assert placed.place(0, 6).text == "  deep"


@pytest.mark.parametrize("header", ["|", "|-", "|+", ">", ">-", ">+", "|2-", ">+2", "| # why", ">- # why"])
@pytest.mark.parametrize("tail", ["", "\n", "\n\n\n", "\n\n# comment\n", "\nb: 1\n", "\n   \n\nb: 1\n"])
def test_chomping(header: str, tail: str) -> None:
    assert check(f"a: {header}\n  one\n  two\n\n\n  three{tail}") is not None


def test_folded_space_is_the_line_end() -> None:
    text = "a: >\n  one\n  two\n\n  three\n    kept\n  four\n"
    placed = check(text)
    assert placed is not None
    assert placed.text == "one two\nthree\n  kept\nfour\n"
    assert placed.place(3, 4).text == "\n  "
    assert placed.place(0, 7).text == "one\n  two"
    assert not placed.straight(0, 7)
    assert placed.straight(4, 7)


def test_escapes_count_as_one_character() -> None:
    text = 'a: "tab\\there \\u00e9 \\U0001F600 \\"q\\" fold\n    ed \\\n    on"\n'
    placed = check(text)
    assert placed is not None
    assert placed.text == 'tab\there é 😀 "q" fold ed on'
    assert placed.place(3, 4).text == "\\t"
    assert placed.place(9, 10).text == "\\u00e9"
    assert placed.place(placed.text.index("on"), len(placed.text)).text == "on"


def test_empty_range_is_a_point() -> None:
    placed = check("a: 'it''s'\n")
    assert placed is not None
    assert placed.place(3, 3).span == Span(8, 8)
    assert placed.place(0, 0).span == Span(4, 4)
    assert placed.place(4, 4).span.start == 9


def test_plain_text_over_several_lines() -> None:
    assert shown("a: one\n   two\n\n   three\n", "one two\nthree") == "one\n   two\n\n   three"


def test_a_scalar_that_cannot_be_followed_is_placed_as_a_whole() -> None:
    source = Source("f.yaml", "a: what\n")
    node = compose(source).documents[0].root.entries[0].value  # type: ignore[union-attr]
    node.text = "something else"
    placed = scalar_text(node)
    assert not placed.exact
    assert placed.place(2, 3).text == "what"


LINES = st.text(alphabet=" \tab'\"\\#:-é😀", max_size=6)
BREAKS = st.sampled_from(["\n", "\r\n", "\n\n", "\n  ", "\x85", "\u2028"])


@settings(max_examples=400, deadline=None)
@given(
    style=st.sampled_from("|>"),
    indicator=st.sampled_from(["", "1", "2", "4"]),
    chomping=st.sampled_from(["", "-", "+"]),
    comment=st.sampled_from(["", " # c"]),
    lines=st.lists(st.tuples(st.integers(0, 5), LINES, BREAKS), max_size=7),
)
@example(style="|", indicator="2", chomping="", comment="", lines=[(5, "", "\n")])
@example(style=">", indicator="2", chomping="+", comment="", lines=[(5, "", "\n"), (0, "", "\n")])
@example(style="|", indicator="", chomping="+", comment="", lines=[(0, "", "\n"), (3, "", "\n")])
def test_block_scalars(
    style: str, indicator: str, chomping: str, comment: str, lines: list[tuple[int, str, str]]
) -> None:
    body = "".join(" " * depth + line + line_break for depth, line, line_break in lines)
    check(f"a: {style}{indicator}{chomping}{comment}\n{body}")
    nested = "".join(" " * (depth + 2) + line + line_break for depth, line, line_break in lines)
    check(f"a: {style}{indicator}{chomping}{comment}\n{nested}b: 1\n")


ESCAPES = st.sampled_from(
    [r"\n", r"\t", r"\\", r"\"", r"\x41", r"\u00e9", r"\U0001F600", "\\\n", "\\\r\n", r"\/", r"\N"]
)
PIECES = st.one_of(st.text(alphabet=" \tabé😀:#-,", max_size=5), BREAKS, st.just("''"), ESCAPES)


@settings(max_examples=400, deadline=None)
@given(quote=st.sampled_from(["'", '"', ""]), pieces=st.lists(PIECES, max_size=8))
@example(quote='"', pieces=["a", "\\\n", "\n\n", "b"])
@example(quote='"', pieces=["a ", "\\\n", "  b"])
@example(quote="'", pieces=["a", "\u2028", "\n", "b"])
def test_flow_scalars(quote: str, pieces: list[str]) -> None:
    check(f"a: {quote}{''.join(pieces)}{quote}\n")
    check(f"{{a: {quote}{''.join(pieces)}{quote} }}\n")
