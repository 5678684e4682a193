"""Edits: replacements of spans, and the builders that make them for YAML.

A builder follows the file's own style: the indentation of siblings, block or flow, the quotes in use, the line end.
It touches the text of the one node only, so comments stay. It returns None where it cannot be sure, and always for
what other places repeat through an alias, unless the caller says that all of them are meant.

Builders work on a `Tree` of a document as it was composed of its own source; nodes of patched or merged documents must
be found in it first (`Tree.find`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from collections.abc import Mapping as Dictionary
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.text.nodes import Document, Entry, Item, Mapping, Node, Scalar, ScalarStyle, Sequence
from kube_gaplint.text.resolve import resolve_plain
from kube_gaplint.text.source import Source, Span, line_start_before

Data: TypeAlias = object
"""A value to be written: None, bool, int, float, str, and lists and dictionaries of these."""


class Edit(NamedTuple):
    """Replace the characters of a span by a text; an empty span inserts."""

    span: Span
    text: str


class Overlap(ValueError):
    """Two edits change the same characters."""


def difference(old: str, new: str) -> Edit:
    """The one edit that makes `new` of `old`: it replaces what stands between their common beginning and end."""
    limit = min(len(old), len(new))
    first = _most(limit, lambda low, high: old[low:high] == new[low:high])
    ends = len(old), len(new)
    last = _most(
        limit - first, lambda low, high: old[ends[0] - high : ends[0] - low] == new[ends[1] - high : ends[1] - low]
    )
    return Edit(Span(first, len(old) - last), new[first : len(new) - last])


def _most(limit: int, same: Callable[[int, int], bool]) -> int:
    """How many characters agree, at most `limit`; `same` tells it of those from one number up to another."""
    low = 0
    while low < limit:
        middle = (low + limit + 1) // 2
        if same(low, middle):
            low = middle
        else:
            limit = middle - 1
    return low


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made. Insertions at one point keep the order in which they are given.

    Raises `Overlap` where two edits change the same characters, or one inserts within what the other replaces.
    """
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)):
        start, end = edit.span.start, edit.span.end
        if start < at or end < start or end > len(text):
            raise Overlap(f"edits overlap at offset {start}")
        pieces += (text[at:start], edit.text)
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


class Held(Struct, frozen=True):
    """Where a node stands: the collection that holds it, and the entry or item in which it does."""

    parent: Mapping | Sequence
    slot: Entry | Item


class _Style(Struct, frozen=True):
    """How a document is written."""

    step: int
    """Columns from a key to the keys below it."""
    dash: int
    """Columns from a key to the dashes of its list."""
    quote: ScalarStyle


class Tree:
    """A document with what its nodes do not know themselves: their holders, and what aliases repeat."""

    __slots__ = ("_by_start", "_held", "_repeated", "_scalars", "_style", "document", "source")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.source: Source = document.source
        self._held: dict[int, Held] = {}
        self._repeated: set[int] = set()
        self._style: _Style | None = None
        self._by_start: dict[tuple[type[Node], int], Node] | None = None
        self._scalars: list[Scalar] | None = None
        stack: list[Node] = [] if document.root is None else [document.root]
        while stack:
            node = stack.pop()
            if isinstance(node, Mapping):
                for entry in node.entries:
                    self._hold(entry.key, Held(node, entry), stack)
                    self._hold(entry.value, Held(node, entry), stack, alias=entry.alias is not None)
                for merged in node.merged:
                    if not (node.span.start <= merged.span.start and merged.span.end <= node.span.end):
                        self._repeated.add(id(merged))
            elif isinstance(node, Sequence):
                for item in node.items:
                    self._hold(item.value, Held(node, item), stack, alias=item.alias is not None)

    def _hold(self, node: Node, held: Held, stack: list[Node], *, alias: bool = False) -> None:
        if alias:
            self._repeated.add(id(node))
        elif id(node) not in self._held:
            self._held[id(node)] = held
            stack.append(node)

    def held(self, node: Node) -> Held | None:
        """Where a node stands; None for the root, and for what stands in a merge key."""
        return self._held.get(id(node))

    def ancestors(self, node: Node) -> Iterable[Node]:
        """The node itself, then what holds it, up to the root."""
        yield node
        held = self._held.get(id(node))
        while held is not None:
            yield held.parent
            held = self._held.get(id(held.parent))

    def repeated(self, node: Node) -> bool:
        """Whether an alias repeats the node or something that holds it."""
        return any(id(ancestor) in self._repeated for ancestor in self.ancestors(node))

    def nodes(self) -> Iterable[Node]:
        """All nodes, each once; the order is not that of the text."""
        if self.document.root is not None:
            yield self.document.root
        for held in self._held.values():
            slot = held.slot
            if isinstance(slot, Entry):
                yield slot.key
                if slot.alias is None:
                    yield slot.value
            elif slot.alias is None:
                yield slot.value

    def starting(self, kind: type[Node], start: int) -> Node | None:
        """The node of a kind that begins at an offset: there is at most one, but for empty scalars."""
        if self._by_start is None:
            self._by_start = {}
            for node in self.nodes():
                self._by_start.setdefault((type(node), node.span.start), node)
        return self._by_start.get((kind, start))

    def find(self, node: Node) -> Node | None:
        """The node of this tree that has the same kind and span as one composed of the same text elsewhere."""
        own = self.starting(type(node), node.span.start)
        return own if own is not None and own.span == node.span else None

    def scalar_around(self, span: Span) -> Scalar | None:
        """The scalar whose text holds a span, as that of a script holds its words."""
        if self._scalars is None:
            scalars = [node for node in self.nodes() if isinstance(node, Scalar)]
            self._scalars = sorted(scalars, key=lambda node: node.span)
        index = bisect_right(self._scalars, span.start, key=lambda node: node.span.start) - 1
        found = self._scalars[index] if index >= 0 else None
        return found if found is not None and span.end <= found.span.end else None

    @property
    def style(self) -> _Style:
        if self._style is None:
            self._style = self._read_style()
        return self._style

    def _read_style(self) -> _Style:
        steps: Counter[int] = Counter()
        dashes: Counter[int] = Counter()
        quotes: Counter[ScalarStyle] = Counter()
        text = self.source.text
        for node in self.nodes():
            if isinstance(node, Scalar):
                if node.style in ("single", "double"):
                    quotes[node.style] += 1
                continue
            held = self.held(node)
            assert isinstance(node, Mapping | Sequence)
            if held is None or node.flow or not isinstance(held.parent, Mapping) or held.parent.flow:
                continue
            difference = _column(text, node.span.start) - _column(text, held.parent.span.start)
            if isinstance(node, Mapping):
                steps[difference] += 1
            else:
                dashes[difference] += 1
        step = steps.most_common(1)[0][0] if steps else 2
        dash = dashes.most_common(1)[0][0] if dashes else 0
        quote = quotes.most_common(1)[0][0] if quotes else "double"
        return _Style(step if step > 0 else 2, max(dash, 0), quote)


def replace_scalar(tree: Tree, node: Scalar, value: Data, *, shared: bool = False) -> list[Edit] | None:
    """Give a scalar another value.

    A text keeps the quotes that stand there; where a plain scalar would become something else than the value that is
    meant (`"1"` for an environment variable), it is put in quotes. Block scalars are left alone.
    """
    if node.style in ("literal", "folded") or (node.tag is not None and node.tag != "tag:yaml.org,2002:str"):
        return None
    if not shared and tree.repeated(node):
        return None
    held = tree.held(node)
    flow = held is not None and _in_flow(tree, held.parent)
    if node.style == "plain" and node.tag is None:
        shown = _scalar(value, tree.style.quote, flow=flow)
    else:
        quote = node.style if node.style != "plain" else tree.style.quote
        shown = _quoted(value if isinstance(value, str) else _plain_text(value), quote)
    if node.span.start == node.span.end and shown:
        before = tree.source.text[node.span.start - 1 : node.span.start]
        if before and before not in " \t\r\n":
            shown = f" {shown}"
    return [Edit(node.span, shown)]


def rename_key(tree: Tree, key: Scalar, name: str, *, shared: bool = False) -> list[Edit] | None:
    """Give a key another name. None where the mapping has a key of that name already."""
    held = tree.held(key)
    if held is None or not isinstance(held.slot, Entry) or held.slot.key is not key or name in _mapping_of(held):
        return None
    return replace_scalar(tree, key, name, shared=shared)


def set_key(
    tree: Tree,
    parent: Mapping,
    path: tuple[str, ...],
    value: Data,
    *,
    shared: bool = False,
    like: Mapping | None = None,
    bulk: Collection[str] = (),
) -> list[Edit] | None:
    """Set the value at a path of keys below a mapping; mappings that are missing on the way are made.

    A new key goes after the last sibling, or in front of the first one whose name is in `bulk`. A value that is there
    already is replaced where both are scalars. `like` is a mapping of the same kind whose quotes the new entries take
    over.
    """
    if not path or (not shared and tree.repeated(parent)):
        return None
    name, rest = path[0], path[1:]
    entry = next((entry for entry in reversed(parent.entries) if entry.name == name), None)
    if entry is None:
        if rest and name in parent:  # merged from elsewhere: a key of its own would hide all the rest of it
            return None
        for step in reversed(rest):
            value = {step: value}
        return _add_entry(tree, parent, name, value, like, bulk)
    if entry.alias is not None and not shared:
        return None
    held = entry.value
    if rest and isinstance(held, Mapping) and (held.entries or held.merged):
        return set_key(tree, held, rest, value, shared=shared, like=like, bulk=bulk)
    for step in reversed(rest):
        value = {step: value}
    if _is_empty(held):
        return _fill(tree, parent, entry, value)
    if isinstance(held, Scalar) and not isinstance(value, Dictionary | list | tuple):
        return replace_scalar(tree, held, value, shared=shared)
    return None


def append_item(tree: Tree, sequence: Sequence, value: Data, *, shared: bool = False) -> list[Edit] | None:
    """Add an item at the end of a list, in the style of the items that are there."""
    if not shared and tree.repeated(sequence):
        return None
    text = tree.source.text
    if not sequence.items:
        held = tree.held(sequence)
        if held is not None and isinstance(held.slot, Entry) and not _in_flow(tree, held.parent):
            return _fill(tree, _mapping_of(held), held.slot, [value])
        return _insert_in_flow(tree, sequence, [], value, None)
    last = sequence.items[-1].value
    like = last if isinstance(last, Mapping) else None
    if sequence.flow:
        return _insert_in_flow(tree, sequence, [_item_span(item) for item in sequence.items], value, like)
    at = _after_block(text, sequence)
    if at is None:
        return None
    column = _column(text, sequence.span.start)
    gap = _gap_after_dash(tree, sequence)
    lines = _block_item(value, column + 1 + len(gap), tree.style, like)
    newline = tree.source.newline
    shown = f"{newline}{' ' * column}-{gap}" + newline.join(lines)
    return [Edit(Span(at, at), shown)]


def insert_items(
    tree: Tree, sequence: Sequence, index: int, values: list[Data], *, shared: bool = False
) -> list[Edit] | None:
    """Put scalars into a list behind the item at an index, in the style of that item."""
    if not shared and tree.repeated(sequence):
        return None
    text = tree.source.text
    before = sequence.items[index]
    quote = before.value.style if isinstance(before.value, Scalar) else "plain"
    flow = _in_flow(tree, sequence)
    shown = [
        _quoted(value, quote) if isinstance(value, str) and quote in ("single", "double")
        else _scalar(value, tree.style.quote, flow=flow)
        for value in values
    ]  # fmt: skip
    end = _item_span(before).end
    if sequence.flow:
        if text[sequence.span.start : sequence.span.start + 1] != "[":
            return None
        start = _item_span(before).start
        line = _line_start(text, start)
        own_line = line > sequence.span.start and not text[line:start].strip()
        gap = tree.source.newline + text[line:start] if own_line else " "
        return [Edit(Span(end, end), "".join(f",{gap}{value}" for value in shown))]
    at = _tail(text, end)
    if at is None or (isinstance(before.value, Scalar) and before.value.style in ("literal", "folded")):
        return None
    column = _column(text, sequence.span.start)
    gap = _gap_after_dash(tree, sequence)
    return [Edit(Span(at, at), "".join(f"{tree.source.newline}{' ' * column}-{gap}{value}" for value in shown))]


def remove_entry(
    tree: Tree, parent: Mapping | Sequence, slot: Entry | Item, *, shared: bool = False
) -> list[Edit] | None:
    """Take an entry out of a mapping, or an item out of a list, with its lines and the comments on them."""
    if not shared and tree.repeated(parent):
        return None
    text = tree.source.text
    slots: list[Entry] | list[Item] = parent.entries if isinstance(parent, Mapping) else parent.items
    index = next((index for index, other in enumerate(slots) if other is slot), None)
    if index is None:
        return None
    if len(slots) == 1:
        return _empty(tree, parent)
    starts = _starts(tree, parent)
    if starts is None:
        return None
    ends = [_slot_end(other) for other in slots]
    if parent.flow:
        span = Span(starts[0], starts[1]) if index == 0 else Span(ends[index - 1], ends[index])
        return [Edit(span, "")]
    start = starts[index]
    line = _line_start(text, start)
    if text[line:start].strip(" "):  # the first entry after a dash: the next one takes its place on that line
        return [Edit(Span(start, starts[index + 1]), "")] if index + 1 < len(slots) else None
    end = _tail(text, max(start, ends[index]))
    if end is None:
        return None
    following = _LINE_END.match(text, end)
    if following is not None:
        return [Edit(Span(line, following.end()), "")]
    if line > 0:  # the last line has no end: the one before gives its own
        line -= 2 if text[line - 2 : line] == "\r\n" else 1
    return [Edit(Span(line, end), "")]


# Where things stand


def _mapping_of(held: Held) -> Mapping:
    assert isinstance(held.parent, Mapping)
    return held.parent


def _line_start(text: str, offset: int) -> int:
    return line_start_before(text, offset)


def _column(text: str, offset: int) -> int:
    return offset - _line_start(text, offset)


_KEEPS = lazy_re.compile(r"[|>][0-9]?\+")
_EMPTY_LINES = lazy_re.compile(r"(?:(?:\r\n|\r|\n)[ \t]*(?=[\r\n]))*")
_LINE_END = lazy_re.compile(r"\r\n|\r|\n")
_TAIL = lazy_re.compile(r"(?:[ \t]+#[^\r\n]*|[ \t]*)(?=[\r\n]|\Z)")


def _tail(text: str, offset: int) -> int | None:
    """The end of the line on which a node ends, its comment included; None where more stands on that line."""
    match = _TAIL.match(text, offset)
    return None if match is None else match.end()


def _after_block(text: str, node: Mapping | Sequence) -> int | None:
    """Where a line may be inserted so that it follows a block collection."""
    end = node.span.end
    last = _last_scalar(node)
    if last is not None and last.style in ("literal", "folded") and last.span.end == end:
        if _KEEPS.match(text, last.span.start) is not None:  # the empty lines that follow are part of the text
            blank = _EMPTY_LINES.match(text, end)
            end = end if blank is None else blank.end()
        return end
    return _tail(text, end)


def _last_scalar(node: Node) -> Scalar | None:
    while not isinstance(node, Scalar):
        if isinstance(node, Mapping) and node.entries and node.entries[-1].alias is None:
            node = node.entries[-1].value
        elif isinstance(node, Sequence) and node.items and node.items[-1].alias is None:
            node = node.items[-1].value
        else:
            return None
    return node


def _in_flow(tree: Tree, node: Node) -> bool:
    return any(isinstance(ancestor, Mapping | Sequence) and ancestor.flow for ancestor in tree.ancestors(node))


def _is_empty(node: Node) -> bool:
    """A null, an empty mapping or an empty list: something that a nested value may take the place of."""
    if isinstance(node, Scalar):
        return node.value is None and node.style == "plain" and node.anchor is node.tag is None
    if isinstance(node, Mapping):
        return not node.entries and not node.merged and node.anchor is node.tag is None
    return isinstance(node, Sequence) and not node.items and node.anchor is node.tag is None


def _item_span(slot: Entry | Item) -> Span:
    if isinstance(slot, Entry):
        return slot.place.span
    return slot.value.span if slot.alias is None else slot.alias


def _slot_end(slot: Entry | Item) -> int:
    return _item_span(slot).end


def _starts(tree: Tree, parent: Mapping | Sequence) -> list[int] | None:
    """Where each entry or item begins: at its key, or at its dash; None where that is not plain to see."""
    text = tree.source.text
    slots: list[Entry] | list[Item] = parent.entries if isinstance(parent, Mapping) else parent.items
    starts: list[int] = []
    for slot in slots:
        start = _item_span(slot).start
        if isinstance(slot, Entry):
            if not isinstance(slot.key, Scalar) or slot.key.anchor is not None or slot.key.tag is not None:
                return None
        elif not parent.flow:
            start = parent.span.start
            if starts:
                blank = _TO_DASH.match(text, _slot_end(slots[len(starts) - 1]))
                if blank is None:
                    return None
                start = blank.end()
        starts.append(start)
    return starts


_TO_DASH = lazy_re.compile(
    r"(?:[ \t]*(?:(?<=[ \t])#[^\r\n]*|(?<![^\r\n])#[^\r\n]*)?(?:\r\n|\r|\n))*[ ]*(?=-(?:[ \t\r\n]|\Z))"
)
"""From the end of an item to the dash of the next: comments and empty lines."""


def _gap_after_dash(tree: Tree, sequence: Sequence) -> str:
    """The blanks between the dash and what follows it, as the list's first item has them."""
    match = re.compile(r"-([ ]+)(?=[^\s#])").match(tree.source.text, sequence.span.start)
    return " " if match is None else match[1]


# Writing entries


def _add_entry(
    tree: Tree, parent: Mapping, name: str, value: Data, like: Mapping | None, bulk: Collection[str] = ()
) -> list[Edit] | None:
    text = tree.source.text
    if not parent.entries and not parent.merged:
        held = tree.held(parent)
        if held is not None and isinstance(held.slot, Entry) and not _in_flow(tree, held.parent):
            return _fill(tree, _mapping_of(held), held.slot, {name: value})
    if parent.flow:
        spans = [_item_span(entry) for entry in parent.entries]
        if parent.merged and not spans:
            return None
        return _insert_in_flow(tree, parent, spans, {name: value}, like or parent)
    column = _column(text, parent.span.start)
    if re.fullmatch(r"(?:[ ]*-)*[ ]*", text[parent.span.start - column : parent.span.start]) is None:
        return None
    newline = tree.source.newline
    lines = _block_entry(name, value, column, tree.style, like)
    first = next((index for index, entry in enumerate(parent.entries) if entry.name in bulk), None)
    if first == 0 and not _has_comment_above(text, parent):
        return [Edit(Span(parent.span.start, parent.span.start), newline.join(lines) + newline + " " * column)]
    at = _after_entry(text, parent.entries[first - 1]) if first else _after_block(text, parent)
    if at is None:
        return None
    return [Edit(Span(at, at), newline + " " * column + newline.join(lines))]


def _after_entry(text: str, entry: Entry) -> int | None:
    """Where a line may be inserted so that it follows an entry of a block mapping."""
    value = entry.value
    if entry.alias is None and isinstance(value, Mapping | Sequence) and not value.flow:
        return _after_block(text, value)
    if entry.alias is None and isinstance(value, Scalar) and value.style in ("literal", "folded"):
        return None
    return _tail(text, _slot_end(entry))


def _has_comment_above(text: str, node: Node) -> bool:
    """Whether a comment stands on the line before a node, or before it on its own line."""
    line = _line_start(text, node.span.start)
    above = text[_line_start(text, max(0, line - 1)) : line] if line else ""
    return above.lstrip().startswith("#")


def _fill(tree: Tree, parent: Mapping, entry: Entry, value: Data) -> list[Edit] | None:
    """Write a value where a block mapping has a key with nothing, `null`, `{}` or `[]` behind it."""
    node = entry.value
    if entry.alias is not None:
        return None
    if not isinstance(value, Dictionary | list | tuple) or not value or _in_flow(tree, parent):
        if isinstance(node, Scalar) and not isinstance(value, Dictionary | list | tuple):
            return replace_scalar(tree, node, value)
        shown = _flow(value, tree.style.quote, json=_is_json(parent), like=None)
        gap = "" if node.span.start < node.span.end else " "
        return [Edit(node.span, gap + shown)]
    text = tree.source.text
    at = _tail(text, node.span.end)
    if at is None:
        return None
    column = _column(text, parent.span.start)
    newline = tree.source.newline
    lines = _block_lines(value, column, tree.style)
    insertion = Edit(Span(at, at), newline + newline.join(lines))
    if node.span.start == node.span.end:
        return [insertion]
    start = node.span.start
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    if text[start - 1 : start] != ":":
        return None
    if at == node.span.end:
        return [Edit(Span(start, at), insertion.text)]
    return [Edit(Span(start, node.span.end), ""), insertion]


def _empty(tree: Tree, parent: Mapping | Sequence) -> list[Edit] | None:
    """Write `{}` or `[]` for a collection that loses its only entry."""
    text = tree.source.text
    shown = "{}" if isinstance(parent, Mapping) else "[]"
    if isinstance(parent, Mapping) and parent.merged:
        return None
    if parent.flow and text[parent.span.start : parent.span.start + 1] not in ("[", "{"):
        return None
    held = tree.held(parent)
    if parent.flow or held is None or not isinstance(held.slot, Entry):
        return [Edit(parent.span, shown)]
    # It goes behind its key; the lines of the block go.
    colon = re.compile(r"[ \t]*:").match(text, held.slot.key.span.end)
    end = _tail(text, parent.span.end)
    line = _line_start(text, parent.span.start)
    if colon is None or end is None or line <= colon.end() or parent.anchor is not None or parent.tag is not None:
        return None
    line -= 2 if text[line - 2 : line] == "\r\n" else 1
    return [Edit(Span(colon.end(), colon.end()), f" {shown}"), Edit(Span(line, end), "")]


def _insert_in_flow(
    tree: Tree, parent: Mapping | Sequence, spans: list[Span], value: Data, like: Mapping | None
) -> list[Edit] | None:
    """Write a further entry or item into a flow collection. For a mapping, `value` is a dictionary of one entry."""
    text = tree.source.text
    closing = parent.span.end - 1
    if text[parent.span.start : parent.span.start + 1] not in ("[", "{"):  # the bare `a: b` of `[a: b]`
        return None
    json = _is_json(parent)
    shown = _flow(value, tree.style.quote, json=json, like=like)
    if isinstance(parent, Mapping):
        shown = shown[1:-1]
    if not spans:
        return [Edit(Span(parent.span.start + 1, closing), shown)]
    end = spans[-1].end
    rest = re.compile(r"\s*(,?)").match(text, end)
    # Entries that have lines of their own get one, too.
    first = spans[-1].start
    line = _line_start(text, first)
    own_line = line > parent.span.start and not text[line:first].strip()
    gap = tree.source.newline + text[line:first] if own_line else " "
    if rest is not None and rest[1]:
        return [Edit(Span(rest.end(), rest.end()), gap + shown)]
    return [Edit(Span(end, end), "," + gap + shown)]


def _is_json(node: Mapping | Sequence) -> bool:
    """Whether a flow collection is written as JSON: all its keys, or else all its texts, are in double quotes."""
    if isinstance(node, Mapping):
        scalars = [entry.key for entry in node.entries]
    else:
        scalars = [value for value in node if isinstance(value, Scalar) and isinstance(value.value, str)]
        scalars += [entry.key for value in node if isinstance(value, Mapping) for entry in value.entries]
    return bool(scalars) and all(isinstance(key, Scalar) and key.style == "double" for key in scalars)


def _block_lines(value: Data, column: int, style: _Style) -> list[str]:
    """The lines of a nested value below a key at `column`, with their indentation."""
    if isinstance(value, Dictionary):
        inner = column + style.step
        lines: list[str] = []
        for name, below in value.items():
            entry = _block_entry(str(name), below, inner, style, None)
            lines.append(" " * inner + entry[0])
            lines += entry[1:]
        return lines
    assert isinstance(value, list | tuple)
    lines = []
    for below in value:
        dash = column + style.dash
        item = _block_item(below, dash + 2, style, None)
        lines.append(f"{' ' * dash}- {item[0]}")
        lines += item[1:]
    return lines


def _block_entry(name: str, value: Data, column: int, style: _Style, like: Mapping | None) -> list[str]:
    """The lines of `name: value` at a column; the first without its indentation."""
    key = _scalar(name, style.quote, flow=False)
    if isinstance(value, Dictionary | list | tuple) and value:
        return [f"{key}:", *_block_lines(value, column, style)]
    if isinstance(value, Dictionary | list | tuple):
        return [f"{key}: {'{}' if isinstance(value, Dictionary) else '[]'}"]
    return [f"{key}: {_scalar_like(name, value, style.quote, like, flow=False)}"]


def _block_item(value: Data, column: int, style: _Style, like: Mapping | None) -> list[str]:
    """The lines of a list item whose content stands at a column; the first without dash and indentation."""
    if isinstance(value, Dictionary) and value:
        lines: list[str] = []
        for name, below in value.items():
            entry = _block_entry(str(name), below, column, style, like)
            lines.append(entry[0] if not lines else " " * column + entry[0])
            lines += entry[1:]
        return lines
    if isinstance(value, Dictionary | list | tuple):
        return [_flow(value, style.quote, json=False, like=None)]
    return [_scalar(value, style.quote, flow=False)]


def _flow(value: Data, quote: ScalarStyle, *, json: bool, like: Mapping | None) -> str:
    if isinstance(value, Dictionary):
        entries = []
        for name, below in value.items():
            key = _quoted(str(name), "double") if json else _scalar(str(name), quote, flow=True)
            if isinstance(below, Dictionary | list | tuple) or json:
                shown = _flow(below, quote, json=json, like=None)
            else:
                shown = _scalar_like(str(name), below, quote, like, flow=True)
            entries.append(f"{key}: {shown}")
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(below, quote, json=json, like=None) for below in value) + "]"
    if json and isinstance(value, str):
        return _quoted(value, "double")
    return _scalar(value, quote, flow=True)


# Writing scalars


_PLAIN = lazy_re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f\ufeff\ufffe\uffff\ud800-\udfff'\"&*!|>%@`#\[\]{},?:-][^\r\n\t\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*"
)
_PLAIN_OPTION = lazy_re.compile(r"--?[A-Za-z][^\s\x00-\x1f\x7f-\x9f\ufeff\ufffe\uffff\ud800-\udfff]*")
_LIKE_A_DATE = lazy_re.compile(r"[-+]?[0-9][0-9_]*(?:[-:][0-9].*|\.[0-9.:_eE+-]*)")


def _scalar(value: Data, quote: ScalarStyle, *, flow: bool) -> str:
    """A scalar as short as it can be written without becoming another value, to Kubernetes and to other parsers."""
    if not isinstance(value, str):
        return _plain_text(value)
    if _fits_plain(value, flow=flow):
        return value
    return _quoted(value, quote)


def _scalar_like(name: str, value: Data, quote: ScalarStyle, like: Mapping | None, *, flow: bool) -> str:
    """A scalar in the quotes that the entry of the same name has in a mapping of the same kind."""
    entry = None if like is None else like.entry(name)
    if entry is not None and isinstance(entry.value, Scalar) and isinstance(value, str):
        style = entry.value.style
        if style in ("single", "double"):
            return _quoted(value, style)
    return _scalar(value, quote, flow=flow)


def _plain_text(value: Data) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _fits_plain(text: str, *, flow: bool) -> bool:
    if _PLAIN.fullmatch(text) is None and _PLAIN_OPTION.fullmatch(text) is None:
        return False
    if text != text.rstrip() or ": " in text or " #" in text or text.endswith(":"):
        return False
    if flow and re.search(r"[,\[\]{}]|:(?=[,\[\]{}\s]|\Z)", text) is not None:
        return False
    if not isinstance(resolve_plain(text), str) or _LIKE_A_DATE.fullmatch(text) is not None:
        return False
    return text not in ("<<", "=", "---", "...") and not text.startswith(("--- ", "... "))


_NAMED_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_TO_ESCAPE = lazy_re.compile(r"[\\\"\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def _quoted(text: str, quote: ScalarStyle) -> str:
    if quote == "single" and re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", text) is None:
        return "'" + text.replace("'", "''") + "'"
    return '"' + _TO_ESCAPE.sub(lambda match: _NAMED_ESCAPES.get(match[0], f"\\u{ord(match[0]):04x}"), text) + '"'
