"""Edits follow the style of the file and change nothing but what is meant."""

from __future__ import annotations

import io

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from kube_gaplint.text.compose import compose
from kube_gaplint.text.edit import (
    Edit,
    Overlap,
    Tree,
    append_item,
    apply,
    remove_entry,
    rename_key,
    replace_scalar,
    set_key,
)
from kube_gaplint.text.nodes import Entry, Item, Mapping, Node, Scalar, Sequence, dig
from kube_gaplint.text.source import Source, Span


def tree(text: str) -> Tree:
    composed = compose(Source("f.yaml", text))
    assert not composed.problems, composed.problems
    return Tree(composed.documents[0])


def at(where: Tree, *path: str | int) -> Node:
    node = dig(where.document.root, *path)
    assert node is not None
    return node


def done(where: Tree, edits: list[Edit] | None) -> str:
    assert edits is not None
    return apply(where.source.text, edits)


def plain(node: Node | None) -> object:
    if isinstance(node, Mapping):
        return {entry.name: plain(entry.value) for entry in node}
    if isinstance(node, Sequence):
        return [plain(item) for item in node]
    return node.value if isinstance(node, Scalar) else None


def set_at(text: str, path: tuple[str | int, ...], keys: tuple[str, ...], value: object) -> str:
    where = tree(text)
    parent = at(where, *path)
    assert isinstance(parent, Mapping)
    return done(where, set_key(where, parent, keys, value))


# Plain edits


def test_apply() -> None:
    edits = [Edit(Span(4, 6), "X"), Edit(Span(0, 1), ""), Edit(Span(3, 3), "1"), Edit(Span(3, 3), "2")]
    assert apply("abcdefg", edits) == "bc12dXg"
    assert apply("abc", []) == "abc"


@pytest.mark.parametrize("spans", [[(0, 3), (2, 4)], [(0, 3), (1, 1)], [(2, 1)], [(0, 9)]])
def test_overlapping_edits_are_refused(spans: list[tuple[int, int]]) -> None:
    with pytest.raises(Overlap):
        apply("abcdef", [Edit(Span(*span), "x") for span in spans])


# Setting keys


@pytest.mark.parametrize(
    ("text", "path", "keys", "value", "result"),
    [
        ("a: 1\n", (), ("b",), 2, "a: 1\nb: 2\n"),
        ("a: 1", (), ("b",), 2, "a: 1\nb: 2"),
        ("a: 1\r\nc: 3\r\n", (), ("b",), "x", "a: 1\r\nc: 3\r\nb: x\r\n"),
        ("a: 1 # one\n# end\n", (), ("b",), 2, "a: 1 # one\nb: 2\n# end\n"),
        ("a: 1\n", (), ("a",), 2, "a: 2\n"),
        ("a: 'x'\n", (), ("a",), "y", "a: 'y'\n"),
        ("a:\nb: 1\n", (), ("a",), 2, "a: 2\nb: 1\n"),
        ("a: # why\nb: 1\n", (), ("a", "c"), 2, "a: # why\n  c: 2\nb: 1\n"),
        ("a: {}\nb: 1\n", (), ("a", "c"), 2, "a:\n  c: 2\nb: 1\n"),
        ("a: {} # why\nb: 1\n", (), ("a", "c"), 2, "a: # why\n  c: 2\nb: 1\n"),
        ("a: null\n", (), ("a", "c"), 2, "a:\n  c: 2\n"),
        ("a:\n    b: 1\nd: 2\n", (), ("a", "c", "e"), 2, "a:\n    b: 1\n    c:\n        e: 2\nd: 2\n"),
        ("a: {b: 1}\n", (), ("a", "c"), "x y", "a: {b: 1, c: x y}\n"),
        ("a: {b: 1, }\n", (), ("a", "c"), "[", 'a: {b: 1, c: "[" }\n'),
        ('{"a": {"b": 1}}', (), ("a", "c"), {"d": ["e"]}, '{"a": {"b": 1, "c": {"d": ["e"]}}}'),
        ('{\n  "a": 1\n}\n', (), ("b",), True, '{\n  "a": 1,\n  "b": true\n}\n'),
        ("- a: 1\n  b: 2\n- c: 3\n", (0,), ("d",), 4, "- a: 1\n  b: 2\n  d: 4\n- c: 3\n"),
        ("- - a: 1\n", (0, 0), ("d",), 4, "- - a: 1\n    d: 4\n"),
        ("a:\n  b: |\n    text\n\nc: 1\n", ("a",), ("d",), 4, "a:\n  b: |\n    text\n  d: 4\n\nc: 1\n"),
        ("a:\n  b: |+\n    text\n\n\nc: 1\n", ("a",), ("d",), 4, "a:\n  b: |+\n    text\n\n\n  d: 4\nc: 1\n"),
        ("a:\n- x\n", (), ("b",), ["w", {"z": 1}], "a:\n- x\nb:\n- w\n- z: 1\n"),
        ("a:\n  - x\n", (), ("b",), [{"z": 1, "w": [2]}], "a:\n  - x\nb:\n  - z: 1\n    w:\n      - 2\n"),
        ("&x a: 1\n", (), ("b",), 2, "&x a: 1\nb: 2\n"),
        ("a: &x\n  b: 1\n", ("a",), ("c",), 2, "a: &x\n  b: 1\n  c: 2\n"),
        ("b: 'x'\n", (), ("c",), "1", "b: 'x'\nc: '1'\n"),
        ("b: x\n", (), ("c",), {}, "b: x\nc: {}\n"),
    ],
)
def test_set_key(text: str, path: tuple[str | int, ...], keys: tuple[str, ...], value: object, result: str) -> None:
    assert set_at(text, path, keys, value) == result


def test_set_key_through_a_merge() -> None:
    where = tree("base: &b {x: {y: 1}, z: 1}\nuse:\n  <<: *b\n")
    use = at(where, "use")
    assert isinstance(use, Mapping)
    assert done(where, set_key(where, use, ("z",), 2)).endswith("use:\n  <<: *b\n  z: 2\n")
    assert set_key(where, use, ("x", "y"), 2) is None, "an own `x` would hide the rest of the merged one"


def test_what_an_alias_repeats_is_left_alone() -> None:
    where = tree("a: &a\n  b: {c: 1}\nd: *a\n")
    inner = at(where, "a", "b")
    assert isinstance(inner, Mapping)
    assert set_key(where, inner, ("x",), 1) is None
    assert set_key(where, inner, ("x",), 1, shared=True) is not None
    assert replace_scalar(where, at(where, "a", "b", "c"), 2) is None  # type: ignore[arg-type]
    root = at(where)
    assert isinstance(root, Mapping)
    assert set_key(where, root, ("d", "x"), 1) is None
    assert set_key(where, root, ("e",), 1) is not None
    unused = tree("a: &a\n  b: 1\n")
    assert set_key(unused, at(unused, "a"), ("c",), 1) is not None  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a: {b: 1}\n", "a: [1]\n", "a: &x {}\n"])
def test_a_collection_is_not_replaced(text: str) -> None:
    where = tree(text)
    root = at(where)
    assert isinstance(root, Mapping)
    assert set_key(where, root, ("a",), {"new": 1}) is None


# Lists


@pytest.mark.parametrize(
    ("text", "path", "value", "result"),
    [
        ("a:\n- 1\n- 2\nb: 1\n", ("a",), 3, "a:\n- 1\n- 2\n- 3\nb: 1\n"),
        ("a:\n  - 1 # one\n", ("a",), "x", "a:\n  - 1 # one\n  - x\n"),
        ("a:\n  -   n: 1\n", ("a",), {"k": 2, "m": 3}, "a:\n  -   n: 1\n  -   k: 2\n      m: 3\n"),
        ("a: [1, 2]\n", ("a",), "b", "a: [1, 2, b]\n"),
        ("a: []\n", ("a",), {"k": 1}, "a:\n- k: 1\n"),
        ('a: ["x"]\n', ("a",), "y", 'a: ["x", "y"]\n'),
        (
            'env:\n  - name: A\n    value: "1"\n',
            ("env",),
            {"name": "B", "value": "two"},
            'env:\n  - name: A\n    value: "1"\n  - name: B\n    value: "two"\n',
        ),
        (
            "env:\r\n- {name: A, value: '1'}\r\n",
            ("env",),
            {"name": "B", "value": "2"},
            "env:\r\n- {name: A, value: '1'}\r\n- name: B\r\n  value: '2'\r\n",
        ),
        ("- - a\n  - b\n- c\n", (0,), "d", "- - a\n  - b\n  - d\n- c\n"),
        ("a:\n- |\n  text\n# end\n", ("a",), "b", "a:\n- |\n  text\n- b\n# end\n"),
    ],
)
def test_append_item(text: str, path: tuple[str | int, ...], value: object, result: str) -> None:
    where = tree(text)
    sequence = at(where, *path)
    assert isinstance(sequence, Sequence)
    assert done(where, append_item(where, sequence, value)) == result


# Scalars and keys


@pytest.mark.parametrize(
    ("text", "value", "result"),
    [
        ("a: 1\n", 2, "a: 2\n"),
        ("a: 1 # why\n", "2", 'a: "2" # why\n'),
        ("a: x\n", "y z", "a: y z\n"),
        ("a: x\n", "yes", 'a: "yes"\n'),
        ("a: x\n", "a: b", 'a: "a: b"\n'),
        ("a: x\n", "- b", 'a: "- b"\n'),
        ("a: x\n", "--flag", "a: --flag\n"),
        ("a: x\n", "2024-01-01", 'a: "2024-01-01"\n'),
        ("a: x\nb: ''\n", "", "a: ''\nb: ''\n"),
        ("a: 'x'\n", "it's", "a: 'it''s'\n"),
        ("a: 'x'\n", "two\nlines", 'a: "two\\nlines"\n'),
        ('a: "x"\n', '\\ "q"', 'a: "\\\\ \\"q\\""\n'),
        ('a: "1"\n', 2, 'a: "2"\n'),
        ("a:\n", True, "a: true\n"),
        ("a: long\n  text\n", "x", "a: x\n"),
        ("a: &n x\n", "z", "a: &n z\n"),
        ("a: x\n", None, "a: null\n"),
        ("a: {b: x}\n", "y,z", 'a: {b: "y,z"}\n'),
    ],
)
def test_replace_scalar(text: str, value: object, result: str) -> None:
    where = tree(text)
    node = at(where, "a", "b") if "{" in text else at(where, "a")
    assert isinstance(node, Scalar)
    changed = done(where, replace_scalar(where, node, value))
    assert changed == result
    again = tree(changed)
    found = at(again, "a", "b") if "{" in text else at(again, "a")
    assert isinstance(found, Scalar)
    assert found.text == ("null" if value is None else str(value).lower() if isinstance(value, bool) else str(value))


@pytest.mark.parametrize("text", ["a: |\n  x\n", "a: >-\n  x\n", "a: !own x\n", "a: !!int '3'\n"])
def test_scalars_that_are_left_alone(text: str) -> None:
    where = tree(text)
    node = at(where, "a")
    assert isinstance(node, Scalar)
    assert replace_scalar(where, node, "y") is None


def test_rename_key() -> None:
    where = tree("a: 1 # x\n'b': 2\n")
    root = at(where)
    assert isinstance(root, Mapping)
    first, second = (entry.key for entry in root.entries)
    assert isinstance(first, Scalar)
    assert isinstance(second, Scalar)
    assert done(where, rename_key(where, first, "c")) == "c: 1 # x\n'b': 2\n"
    assert done(where, rename_key(where, second, "c")) == "a: 1 # x\n'c': 2\n"
    assert rename_key(where, first, "b") is None


# Removing


@pytest.mark.parametrize(
    ("text", "path", "index", "result"),
    [
        ("a: 1\nb: 2 # two\nc: 3\n", (), 1, "a: 1\nc: 3\n"),
        ("a: 1\nb: 2", (), 1, "a: 1"),
        ("a: 1\r\nb: 2", (), 1, "a: 1"),
        ("# head\na: 1\nb:\n  c: 2\n# tail\nd: 3\n", (), 1, "# head\na: 1\n# tail\nd: 3\n"),
        ("- a: 1\n  b: 2\n", (0,), 0, "- b: 2\n"),
        ("- a: 1\n  b: 2\n", (0,), 1, "- a: 1\n"),
        ("- a\n- b # x\n# y\n- c\n", (), 1, "- a\n# y\n- c\n"),
        ("- a\n- b\n", (), 0, "- b\n"),
        ("x:\n  - a\n  -\n  - c\n", ("x",), 1, "x:\n  - a\n  - c\n"),
        ("- - a\n  - b\n", (0,), 0, "- - b\n"),
        ("x: {a: 1, b: 2, c: 3}\n", ("x",), 0, "x: {b: 2, c: 3}\n"),
        ("x: {a: 1, b: 2, c: 3}\n", ("x",), 2, "x: {a: 1, b: 2}\n"),
        ("x: [a, b]\n", ("x",), 0, "x: [b]\n"),
        ("x: [a]\n", ("x",), 0, "x: []\n"),
        ("x:\n  a: 1\ny: 2\n", ("x",), 0, "x: {}\ny: 2\n"),
        ("x:\n- a\ny: 2\n", ("x",), 0, "x: []\ny: 2\n"),
        ("a: |\n  text\n\nb: 1\n", (), 0, "\nb: 1\n"),
    ],
)
def test_remove_entry(text: str, path: tuple[str | int, ...], index: int, result: str) -> None:
    where = tree(text)
    parent = at(where, *path)
    assert isinstance(parent, Mapping | Sequence)
    slot: Entry | Item = parent.entries[index] if isinstance(parent, Mapping) else parent.items[index]
    edits = remove_entry(where, parent, slot)
    assert done(where, edits) == result
    before = plain(parent)
    if isinstance(before, dict):
        del before[list(before)[index]]
    elif isinstance(before, list):
        del before[index]
    assert plain(at(tree(result), *path)) == before


# Any document


KEYS = st.text(alphabet="abcxyz", min_size=1, max_size=3)
TEXTS = st.text(alphabet=" \n\tab#-'\"\\{}[]&*!|>%@é😀y0", max_size=8)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-99, 99), TEXTS)
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)
ANCHORS = ("anchor: &anchored {k: [1, 2]}\nalias: *anchored\n", "")


@st.composite
def documents(draw: st.DrawFn) -> str:
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = draw(st.sampled_from([True, False, None]))
    yaml.width = 10_000
    if draw(st.booleans()):
        yaml.indent(mapping=4, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump({"top": draw(DATA)}, out)
    text = draw(st.sampled_from(ANCHORS)) + out.getvalue() if yaml.default_flow_style is not True else out.getvalue()
    lines = text.splitlines()
    if "|" not in text and ">" not in text and "\\" not in text and '"' not in text and "'" not in text:
        lines = [f"{line} # comment {number}" for number, line in enumerate(lines)]
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = newline.join(lines) + draw(st.sampled_from(["", newline]))
    composed = compose(Source("f.yaml", text))
    assume(not composed.problems)
    return text


def paths(node: Node | None, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path]
    if isinstance(node, Mapping):
        for entry in node.entries:
            found += paths(entry.value, (*path, entry.name)) if entry.alias is None else []
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            found += paths(item.value, (*path, index))
    return found


def changed_at(data: object, path: tuple[str | int, ...], change: object) -> object:
    """A copy of the data with one place changed by a function."""
    if not path:
        return change(data)  # type: ignore[operator]
    first, rest = path[0], path[1:]
    if isinstance(data, dict):
        return {key: changed_at(value, rest, change) if key == first else value for key, value in data.items()}
    assert isinstance(data, list)
    return [changed_at(value, rest, change) if index == first else value for index, value in enumerate(data)]


def verify(text: str, edits: list[Edit] | None, path: tuple[str | int, ...], change: object) -> str | None:
    """The edited text means the old data with one change, and has all the comments that it had."""
    if edits is None:
        return None
    result = apply(text, edits)
    composed = compose(Source("f.yaml", result))
    assert not composed.problems, (text, result, composed.problems)
    before = plain(compose(Source("f.yaml", text)).documents[0].root)
    assert plain(composed.documents[0].root) == changed_at(before, path, change), (text, result)
    assert text.count("# comment") == result.count("# comment") or change is None
    assert ("\r\n" in text) <= ("\n" not in result.replace("\r\n", ""))
    return result


NEW = st.one_of(
    SCALARS, st.dictionaries(KEYS, SCALARS, min_size=1, max_size=2), st.lists(SCALARS, min_size=1, max_size=2)
)


@settings(max_examples=300, deadline=None)
@given(text=documents(), value=NEW, data=st.data())
def test_new_keys_and_items(text: str, value: object, data: st.DataObject) -> None:
    where = tree(text)
    root = where.document.root
    path = data.draw(st.sampled_from(paths(root)))
    node = dig(root, *path)
    assume(text.endswith("\n") or not set("|>") & set(text))  # a block text at the very end gains a line end
    if isinstance(node, Mapping):
        result = verify(text, set_key(where, node, ("new",), value), path, lambda old: {**old, "new": value})
        if result is not None and not isinstance(value, dict | list):
            again = tree(result)
            parent = dig(again.document.root, *path)
            assert isinstance(parent, Mapping)
            assert done(again, set_key(again, parent, ("new",), value)) == result
    elif isinstance(node, Sequence):
        verify(text, append_item(where, node, value), path, lambda old: [*old, value])
    elif isinstance(node, Scalar) and not isinstance(value, dict | list):
        quoted = node.style != "plain" and not isinstance(value, str)
        shown = {None: "null", True: "true", False: "false"}.get(value, str(value)) if quoted else value  # type: ignore[call-overload]
        verify(text, replace_scalar(where, node, value), path, lambda _: shown)


@settings(max_examples=300, deadline=None)
@given(text=documents(), data=st.data())
def test_removed_entries(text: str, data: st.DataObject) -> None:
    where = tree(text)
    root = where.document.root
    places = [path for path in paths(root) if isinstance(dig(root, *path), Mapping | Sequence)]
    path = data.draw(st.sampled_from(places))
    parent = dig(root, *path)
    assert isinstance(parent, Mapping | Sequence)
    slots: list[Entry] | list[Item] = parent.entries if isinstance(parent, Mapping) else parent.items
    assume(slots)
    index = data.draw(st.integers(0, len(slots) - 1))
    edits = remove_entry(where, parent, slots[index])
    if edits is None:
        return
    result = apply(text, edits)
    composed = compose(Source("f.yaml", result))
    if "alias" in text and path == () and index == 0:
        assert composed.problems, "the anchor went with the entry; whoever applies edits must compose again"
        return
    assert not composed.problems, (text, result)

    def without(old: object) -> object:
        if isinstance(old, dict):
            return {key: value for number, (key, value) in enumerate(old.items()) if number != index}
        assert isinstance(old, list)
        return [value for number, value in enumerate(old) if number != index]

    before = plain(root)
    assert plain(composed.documents[0].root) == changed_at(before, path, without), (text, result)
