"""Comments are found where they are comments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.text.comments import comments
from kube_gaplint.text.compose import compose
from kube_gaplint.text.source import Source


def found(text: str) -> list[tuple[int, str, bool]]:
    source = Source("f.yaml", text)
    return [
        (comment.place.start.line, comment.text, comment.own_line)
        for comment in comments(source, compose(source).documents)
    ]


def test_comments_of_a_manifest() -> None:
    text = """\
# licence
--- # first
kind: Job  # gaplint: ignore[X] why
url: http://a/#anchor
quoted: "a # b"
single: 'a # b'
list: [1, # in flow
  2]
script: | # header
  #!/bin/bash
  echo a # not a comment
  # nor this
# after the script
folded: >-
  text # no
many: "lines
  # no
  " # yes
"""
    assert found(text) == [
        (1, "licence", True),
        (2, "first", False),
        (3, "gaplint: ignore[X] why", False),
        (7, "in flow", False),
        (9, "header", False),
        (13, "after the script", True),
        (18, "yes", False),
    ]


def test_keys_and_merged_values_hide_their_text() -> None:
    text = 'base: &b {x: "a # b"}\nuse: {<<: *b, "k # k": 1}\nin: {<<: {y: "c # d"}}\n# end\n'
    assert found(text) == [(4, "end", True)]


def test_line_ends_are_no_part_of_a_comment() -> None:
    assert found("a: 1 # one  \r\n# two\r\n") == [(1, "one", False), (2, "two", True)]
    assert found("# one\r# two\r") == [(1, "one", True), (2, "two", True)]


def test_broken_documents_give_only_comments_at_the_line_start() -> None:
    text = "a: [\n  # inside\n# outside\n---\nb: 1 # fine\n"
    assert found(text) == [(3, "outside", True), (5, "fine", False)]


def test_many_documents() -> None:
    assert found("a: 1 # one\n---\n# two\n---\nb: |\n  # no\n") == [(1, "one", False), (3, "two", True)]


@given(st.lists(st.sampled_from(["a: 1", "b: 'x # y'", "c: |", "  # z", "# w", "- d # v", 'e: "', '# u"', "---"])))
def test_comments_never_overlap_and_start_with_a_hash(lines: list[str]) -> None:
    text = "\n".join(lines)
    source = Source("f.yaml", text)
    end = 0
    for comment in comments(source, compose(source).documents):
        assert comment.place.span.start >= end
        assert comment.place.text.startswith("#")
        end = comment.place.span.end
