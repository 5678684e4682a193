"""YAML text to nodes: structure, spans, documents, and what happens to broken or hostile text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from kube_gaplint.text import compose as module
from kube_gaplint.text.compose import DEFAULT_LIMITS, Composed, Limits, compose
from kube_gaplint.text.nodes import Mapping, Node, Scalar, Sequence, dig
from kube_gaplint.text.source import Source, Span


def read(text: str, limits: Limits = DEFAULT_LIMITS) -> Composed:
    return compose(Source("f.yaml", text), limits)


def root(text: str) -> Node:
    composed = read(text)
    assert not composed.problems
    assert len(composed.documents) == 1
    node = composed.documents[0].root
    assert node is not None
    return node


def plain(node: Node | None) -> object:
    """The data of a node; texts stay what they are whatever they mean."""
    if isinstance(node, Mapping):
        return {entry.name: plain(entry.value) for entry in node}
    if isinstance(node, Sequence):
        return [plain(item) for item in node]
    return node.value if isinstance(node, Scalar) else None


def nodes(node: Node | None) -> Iterator[Node]:
    if node is None:
        return
    yield node
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield from nodes(entry.key)
            yield from nodes(entry.value)
    if isinstance(node, Sequence):
        for item in node.items:
            yield from nodes(item.value)


def messages(composed: Composed) -> list[tuple[str, str]]:
    return [(problem.kind, repr(problem.place)) for problem in composed.problems]


def test_values_and_spans() -> None:
    text = 'a: &x !t "b"\nb: [1, *x]\nc: |\n  foo\n  bar  \n\n# c\nd:\n- x\n- &s\n  - y\n-  &m !!map\n  q: 1\n  r: &z\n'
    top = root(text)
    assert plain(top) == {"a": "b", "b": [1, "b"], "c": "foo\nbar  \n", "d": ["x", [True], {"q": 1, "r": None}]}

    def shown(*path: str | int) -> str:
        node = dig(top, *path)
        assert node is not None
        return node.place.text

    assert shown("a") == '"b"'
    assert shown("b") == "[1, *x]"
    assert shown("c") == "|\n  foo\n  bar  "
    assert shown("d", 1) == "- y"
    assert shown("d", 2) == "q: 1\n  r: &z"
    assert shown("d").startswith("- x\n- &s")
    assert top.span == Span(0, len(text) - 1)
    assert (dig(top, "a").anchor, dig(top, "a").tag) == ("x", "!t")  # type: ignore[union-attr]
    assert dig(top, "d", 1).anchor == "s"  # type: ignore[union-attr]
    empty = dig(top, "d", 2, "r")
    assert isinstance(empty, Scalar)
    assert (empty.anchor, empty.place.text, empty.value) == ("z", "", None)
    listed = dig(top, "b")
    assert isinstance(listed, Sequence)
    assert listed.flow
    alias = listed.items[1].alias
    assert alias is not None
    assert text[alias.start : alias.end] == "*x"
    assert listed.items[1].value is dig(top, "a")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_offsets_count_characters(newline: str) -> None:
    text = newline.join(["é: 😀b", "list:", "  - k: v # 😀", "last: x"]) + newline
    top = root(text)
    assert dig(top, "é").place.text == "😀b"  # type: ignore[union-attr]
    assert dig(top, "list").place.text == "- k: v"  # type: ignore[union-attr]
    assert dig(top, "last").place.text == "x"  # type: ignore[union-attr]
    assert dig(top, "last").place.start.line == 4  # type: ignore[union-attr]


def test_a_second_byte_order_mark_does_not_shift_places() -> None:
    composed = read("\ufeffa: 1\nb: 2\n")
    assert dig(composed.documents[0].root, "b").place.text == "2"  # type: ignore[union-attr]


def test_compact_nested_lists_and_maps() -> None:
    top = root("- - a\n  - b\n- k: v\n  l:\n  - 1\n- [a: b, {c: d}]\n")
    assert plain(top) == [["a", "b"], {"k": "v", "l": [1]}, [{"a": "b"}, {"c": "d"}]]
    assert dig(top, 0).place.text == "- a\n  - b"  # type: ignore[union-attr]
    assert dig(top, 2, 0).place.text == "a: b"  # type: ignore[union-attr]


def test_documents_divide_the_text() -> None:
    text = "# head\n---\na: 1\n# tail\n---\n---\n# only a comment\n--- b\n...\n"
    composed = read(text)
    assert not composed.problems
    assert [plain(document.root) for document in composed.documents] == [{"a": 1}, None, None, "b"]
    assert [document.root is None for document in composed.documents] == [False, True, True, False]
    spans = [document.span for document in composed.documents]
    assert spans[0].start == 0
    assert all(before.end == after.start for before, after in pairwise(spans))
    assert [document.index for document in composed.documents] == [0, 1, 2, 3]


@pytest.mark.parametrize(("text", "count"), [("", 0), ("# only\n", 0), ("---\n", 1), ("%YAML 1.1\n---\na: 1\n", 1)])
def test_little_or_nothing(text: str, count: int) -> None:
    composed = read(text)
    assert len(composed.documents) == count
    assert not composed.problems


def test_merge_keys() -> None:
    top = root("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc:\n  <<: [*a, {x: 4, z: 5}]\n  '<<': text\n")
    assert plain(dig(top, "b")) == {"x": 1, "y": 3}
    assert plain(dig(top, "c")) == {"x": 1, "y": 2, "z": 5, "<<": "text"}
    merged = dig(top, "b")
    assert isinstance(merged, Mapping)
    assert [entry.name for entry in merged.entries] == ["y"]
    assert merged.place.text == "{<<: *a, y: 3}"


def test_a_merge_of_something_else_is_reported() -> None:
    composed = read("a: {<<: 3, b: 1}\n")
    assert messages(composed) == [("syntax", "f.yaml:1:5")]
    assert plain(composed.documents[0].root) == {"a": {"b": 1}}


def test_duplicate_keys_are_reported_and_the_last_one_counts() -> None:
    composed = read("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")
    assert messages(composed) == [("duplicate-key", "f.yaml:4:3"), ("duplicate-key", "f.yaml:5:1")]
    assert "first on line 1" in composed.problems[1].message
    top = composed.documents[0].root
    assert isinstance(top, Mapping)
    assert plain(top) == {"a": 3, "b": {"c": 2}}
    assert len(top.entries) == 3


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("[{key: gpu, operator: Exists}]", '[{operator: "Exists", key: gpu}]', True),
        ("[a, b]", "[b, a]", False),
        ("[a, b]", "[a]", False),
        ("{a: 1}", "{a: 1, b: 2}", False),
        ("{a: {b: [1]}}", "{a: {b: [2]}}", False),
        ("8", '"8"', False),
        ("1", "true", False),
        ("yes", "true", True),
        ("", "{}", False),
        ("&x {a: 1}", "*x", True),
        (f"[{'a, ' * 3000}]", f"[{'a,' * 3000}]", False),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_repeated_key_has_an_equal_value(first: str, second: str, same: bool) -> None:
    composed = read(f"k: {first}\nk: {second}\n")
    assert [problem.kind for problem in composed.problems] == ["repeated-key" if same else "duplicate-key"]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a:\n\tb: c\n", "2:1", "tab"),
        ("a: 'foo\nb: 1\n", "1:4", "never closed"),
        ('a: "\\q"\n', "1:5", "escape"),
        ("a: @foo\n", "1:4", "cannot start with `@`"),
        ("a: b: c\n", "1:5", "a `:` cannot stand here"),
        ("a: 1\nb\nc: 2\n", "2:1", "no `key: value` pair"),
        ("a:\n  b: 1\n c: 2\n", "3:2", "indentation"),
        ("- a\nb: 1\n", "2:1", "`- ` item was expected"),
        ("a: [1, 2\nb: 3\n", "2:2", "`]`"),
        ("a: *.yaml\n", "1:4", "alias"),
        ("a: *gone\n", "1:4", "no anchor `&gone`"),
        ("a: &a [1, *a]\n", "1:11", "inside the value"),
        ("a: !no!tag x\n", "1:4", "tag"),
        ("%NO\n---\na: 1\n", "1:1", "directive"),
        ("a: b\x07\n", "1:5", "U+0007"),
        ("a: \ud800\n", "1:4", "U+D800"),
        ("? [a]\n: b\n", "1:3", "cannot be a key"),
        ("{{- if .Values.on }}\nkind: Job\n{{- end }}\n", "1:1", "template text"),
        ("{% if on %}\nkind: Job\n{% endif %}\n", "1:1", "template text"),
        ("a: {{ .Values.a }}\n", "1:4", "template text"),
        ("a: {{ .Values.a }}-b\n", "1:4", "template text"),
        ("a:\n{{ toYaml . | indent 2 }}\n", "2:1", "template text"),
        ("a: 1\n b: '{{ x }}'\n", "2:3", "a `:` cannot stand here"),
        ("a: 1\n  {{- with .b }}\n  c: 2\n", "2:3", "template text"),
    ],
)
def test_syntax_errors_are_explained_at_the_place(text: str, place: str, words: str) -> None:
    composed = read(text)
    assert [problem.kind for problem in composed.problems] == ["syntax"]
    assert repr(composed.problems[0].place) == f"f.yaml:{place}"
    assert words in composed.problems[0].message


def test_template_values_stand_in_as_texts() -> None:
    composed = read("image: {{ .Values.image }}\nargs: [{{ .a }}, x]\nkey: 1\n---\n- {{ x }}\n")
    assert [plain(document.root) for document in composed.documents] == [
        {"image": "{{ .Values.image }}", "args": ["{{ .a }}", "x"], "key": 1},
        ["{{ x }}"],
    ]
    assert messages(composed) == [("syntax", "f.yaml:1:8"), ("syntax", "f.yaml:5:3")]


def test_documents_around_a_broken_one_are_kept() -> None:
    composed = read("a: 1\n---\nb: [\n---\nc: 3\n---\nd: \x07\n---\ne: 5\n")
    assert [plain(document.root) for document in composed.documents] == [{"a": 1}, {"c": 3}, {"e": 5}]
    assert messages(composed) == [("syntax", "f.yaml:4:1"), ("syntax", "f.yaml:7:4")]
    assert dig(composed.documents[2].root, "e").place.text == "5"  # type: ignore[union-attr]


def test_reading_stops_after_many_broken_documents() -> None:
    composed = read("---\n[\n" * 1000)
    *broken, last = composed.problems
    assert len(broken) == DEFAULT_LIMITS.problems
    assert (last.kind, last.message) == ("limit", "more than 20 documents are broken: the rest was not read")
    assert last.place.start.line == 2 * DEFAULT_LIMITS.problems + 1


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 1000))
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 60))


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "{a: " * 100_000, "- " * 200_000, "? " * 200_000, BOMB, CHAIN, MERGES],
    ids=["brackets", "braces", "dashes", "keys", "alias bomb", "alias chain", "merge bomb"],
)
def test_hostile_nesting_meets_a_limit(text: str) -> None:
    composed = read(text)
    assert [problem.kind for problem in composed.problems] == ["limit"]
    assert not composed.documents


def test_a_limit_costs_one_document_only() -> None:
    composed = read("a: 1\n---\n" + "[" * 300 + "\n---\nb: 2\n")
    assert [plain(document.root) for document in composed.documents] == [{"a": 1}, {"b": 2}]
    assert [problem.kind for problem in composed.problems] == ["limit"]


def test_the_number_of_nodes_is_limited_over_all_documents() -> None:
    limits = Limits(nodes=50)
    assert not read("[1, 2, 3]\n", limits).problems
    composed = read("---\n[1, 2, 3]\n" * 30, limits)
    assert [problem.kind for problem in composed.problems] == ["limit"]
    assert len(composed.documents) == 10
    assert [problem.kind for problem in read("---\n" * 100, limits).problems] == ["limit"]


def test_honest_aliases_pass() -> None:
    text = "base: &b {a: 1, b: [1, 2]}\n" + "".join(f"k{i}: *b\n" for i in range(1000))
    assert dig(root(text), "k999", "b", 1).value == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["a: " + "x" * 3_000_000, "a: |\n" + "\n" * 1_000_000 + "x", "#" * 3_000_000])
def test_long_texts_are_read(text: str) -> None:
    assert len(read(text).problems) <= 1


# No `:`: the dumper writes plain texts with a colon in flow collections, which neither libyaml nor Kubernetes reads.
KEYS = st.text(alphabet="abcyn-/. é😀#", min_size=1, max_size=6)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.text(alphabet=" \n\tab#-'\"\\{}[]&*!|>%@é😀y0", max_size=12),
)
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)


def dumped(data: object, *, flow: bool, indented: bool) -> str:
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = flow
    yaml.width = 10_000  # the dumper folds a text wrongly where an escaped tab meets the margin
    if indented:
        yaml.indent(mapping=4, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(data, out)
    return out.getvalue()


def same(node: Node | None, data: object) -> bool:
    if isinstance(data, dict):
        return (
            isinstance(node, Mapping)
            and sorted(entry.name for entry in node.entries) == sorted(data)
            and all(same(entry.value, data[entry.name]) for entry in node.entries)
        )
    if isinstance(data, list):
        return isinstance(node, Sequence) and len(node) == len(data) and all(map(same, node, data))
    if isinstance(data, str):  # the dumper quotes by other rules than Kubernetes reads
        return isinstance(node, Scalar) and node.text == data
    if node is None:
        return data is None
    return isinstance(node, Scalar) and node.value == data and type(node.value) is type(data)


@settings(max_examples=200, deadline=None)
@given(data=DATA, flow=st.booleans(), indented=st.booleans())
def test_what_is_dumped_is_read_back(data: object, flow: bool, indented: bool) -> None:
    text = dumped(data, flow=flow, indented=indented)
    composed = read(text)
    assert not composed.problems
    top = composed.documents[0].root
    if isinstance(data, dict | list):
        assert same(top, data)
    for node in nodes(top):
        assert 0 <= node.span.start <= node.span.end <= len(text)
        if isinstance(node, Scalar):
            shown = node.place.text
            if node.style == "plain" and "\n" not in shown:
                assert shown == node.text
            elif node.style in ("single", "double"):
                assert shown[0] == shown[-1] == ("'" if node.style == "single" else '"')
        elif node.flow and node.place.text[0] in "[{":
            assert node.place.text[0] + node.place.text[-1] in ("[]", "{}")
        for child in nodes(node):
            assert node.span.start <= child.span.start
            assert child.span.end <= node.span.end


# fmt: off
PIECES = st.sampled_from([
    "a: ", "b", "- ", "\n", "  ", "|\n", ">-\n", "'", '"', "[", "]", "{", "}", ", ", "&x ", "*x", "!t ", "#c", "---\n",
    ": ", "? ", "\t", "%", "@", "{{ y }}", "<<: ", "...\n", "\r\n", "é😀", "\x00", "\x85", "\ufeff", "\\", "$(X)",
])
# fmt: on


@settings(max_examples=500, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_text_is_answered(text: str) -> None:
    composed = read(text)
    for document in composed.documents:
        for node in nodes(document.root):
            assert 0 <= node.span.start <= node.span.end <= len(text)
    for problem in composed.problems:
        assert problem.message
        assert 0 <= problem.place.span.start <= problem.place.span.end <= len(text)


@settings(max_examples=100, deadline=None)
@given(data=DATA, flow=st.booleans(), indented=st.booleans())
def test_the_pure_parser_gives_the_same_nodes(data: object, flow: bool, indented: bool) -> None:
    text = dumped({"top": data}, flow=flow, indented=indented)
    with pytest.MonkeyPatch.context() as patch:
        compiled = read(text)
        patch.setattr(module, "CParser", None)
        pure = read(text)
    assert not pure.problems
    for one, other in zip(nodes(compiled.documents[0].root), nodes(pure.documents[0].root), strict=True):
        assert type(one) is type(other)
        assert one.span == other.span
        if isinstance(one, Scalar) and isinstance(other, Scalar):
            assert (one.text, one.value, one.style) == (other.text, other.value, other.style)


def test_the_pure_parser_reads_broken_text_too() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CParser", None)
        composed = read("a: 1\n---\nb: [\n---\nc: &x 3\nd: *x\n---\ne: \x07\n")
    assert [plain(document.root) for document in composed.documents] == [{"a": 1}, {"c": 3, "d": 3}]
    assert [problem.kind for problem in composed.problems] == ["syntax", "syntax"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{image: nginx:1.27}", "nginx:1.27"),
        ("a: 1\n---\n{image: ssm:/aws/x, b: 2}\n---\nc: 1\n", "ssm:/aws/x"),
        ("{image: https://example.org/a}\n", "https://example.org/a"),
    ],
)
def test_colons_in_plain_text_in_flow_style(text: str, expected: str) -> None:
    composed = compose(Source("a.yaml", text))
    assert composed.problems == []
    found = [dig(document.root, "image") for document in composed.documents]
    assert [(node.text, node.place.text) for node in found if isinstance(node, Scalar)] == [(expected, expected)]


def test_a_document_that_the_slow_parser_refuses_too_stays_broken() -> None:
    composed = compose(Source("a.yaml", "a: {b: nginx:1\n---\nc: {d: e:f}\n"))
    assert [problem.place.start.line for problem in composed.problems] == [1]
    assert len(composed.documents) == 1
