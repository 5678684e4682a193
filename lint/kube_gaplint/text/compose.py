"""Text to nodes with spans, from parser events.

The events come from libyaml (`ruamel.yaml.clib`), which go-yaml, and so Kubernetes, was ported from: what one accepts
the other accepts. Where the extension is missing the pure parser of ruamel.yaml stands in. Nodes are built in one loop
without recursion, so nesting costs memory but no stack.

A broken document does not hide the others: after an error, reading goes on at the next `---` line, which ends a
document whatever it contains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct, field
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from kube_gaplint import collector, lazy_re
from kube_gaplint.text.limits import BROKEN, DEPTH, EXPANSION, NODES
from kube_gaplint.text.nodes import Document, Entry, Item, Mapping, Node, Scalar, ScalarStyle, Sequence
from kube_gaplint.text.resolve import NUMBER_STARTS, WORDS, resolve_plain, resolve_tagged
from kube_gaplint.text.source import Place, Source, Span

try:
    from _ruamel_yaml import CParser  # type: ignore[import-not-found]
except ImportError:  # pragma: no cover - a platform without the compiled extension
    CParser = None

ProblemKind: TypeAlias = Literal["syntax", "limit", "duplicate-key", "repeated-key"]


class Limits(Struct, frozen=True):
    """How much one source may hold. Real manifests stay far below every one of these."""

    depth: int = DEPTH.most
    """Nesting of mappings and sequences, aliases followed."""
    nodes: int = NODES.most
    """Nodes of the whole source, each alias counted as a copy of what it stands for."""
    expansion: int = EXPANSION.most
    """Nodes that the aliases of one document add."""
    problems: int = BROKEN.most
    """Broken documents after which reading stops."""


DEFAULT_LIMITS = Limits()


class Problem(Struct, frozen=True):
    """What is wrong with a text, in words, and where. A duplicate key is no error to Kubernetes; the others are."""

    kind: ProblemKind
    message: str
    place: Place


class Composed(Struct):
    """The documents of one source in their order, and what is wrong with it."""

    source: Source
    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class _Broken(Exception):
    """The current document cannot be used."""

    def __init__(self, problem: Problem, *, fatal: bool = False) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.fatal = fatal
        """Reading stops altogether."""


class _Progress(Struct):
    """How far a source is read: the count of nodes, and where the document that is being read begins."""

    nodes: int = 0
    start: int = 0
    free: int = 0
    """Where the text begins that belongs to no document so far."""
    slow: int = 0
    """Characters that the pure parser was given."""


_DOCUMENT_LINE = lazy_re.compile(r"^---(?=[ \t\r\n]|\Z)", re.M)
_UNPRINTABLE = lazy_re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLES: dict[str, ScalarStyle] = {"'": "single", '"': "double", "|": "literal", ">": "folded"}
_PROPERTIES = lazy_re.compile(r"(?:[&!][^\s\[\]{},]*(?:\s+(?:#[^\n]*(?:\n|\Z)\s*)*|\Z|(?=[\[\]{},])))+")
_NO_SPAN = Span(0, 0)
_MOST_PROBLEMS = 1000
_MOST_COMPARED = 2000
"""Values of two equal keys that are compared, and entries of one of them."""
_COLON = "found unexpected ':'"
_LONGEST_SLOW = 1 << 18
_COLON_INSIDE = lazy_re.compile(r"(?<=[^\s,\[\]{}\"':#]):(?=[^\s,\[\]{}:])")
_STAND_IN = "\ue000"  # of a private area, and of one character like the colon, so that all offsets stay
_MERGE_TAG = "tag:yaml.org,2002:merge"


def compose(source: Source, limits: Limits = DEFAULT_LIMITS) -> Composed:
    """Read all documents of a source.

    Never raises for anything in the text: what cannot be read is in `problems`, and the documents before and after a
    broken one are kept. Problems come in the order of the text, apart from those of one document.
    """
    with collector.kept_out():  # nodes hold no cycles
        return _compose(source, limits)


def _compose(source: Source, limits: Limits) -> Composed:
    composed = Composed(source)
    progress = _Progress()
    text = source.text
    at, end, broken = 0, len(text), 0
    while True:
        kept = len(composed.documents), len(composed.problems)
        progress.start = progress.free = at
        unreadable = -1
        colon = False
        try:
            _compose_from(composed, text[at:end] if at or end < len(text) else text, at, limits, progress)
            failure = None
        except _Broken as error:
            failure = error
        except MarkedYAMLError as error:
            failure = _Broken(_syntax_problem(source, error, at))
            colon = _COLON in str(error.problem)
        except (YAMLError, UnicodeEncodeError):
            # A character that YAML forbids is reported before the documents in front of it: read those by themselves.
            match = _UNPRINTABLE.search(text, at, end)
            unreadable = at if match is None else match.start()
            failure = None
        if unreadable >= 0:
            del composed.documents[kept[0] :], composed.problems[kept[1] :]
            first = _document_start(text, at, unreadable)
            if first > at:
                end = first
                continue
            progress.start = first
            failure = _Broken(_unprintable_problem(source, unreadable))
        if failure is None:
            if end == len(text):
                break
            at, end = end, len(text)
            continue
        following = _DOCUMENT_LINE.search(text, progress.start + 1, end)
        stop = end if following is None else following.start()
        if colon and _compose_slowly(composed, text[progress.start : stop], limits, progress):
            if stop == len(text):
                break
            at, end = stop, len(text) if stop == end else end
            continue
        _report_once(composed, failure.problem, since=progress.start)
        broken += 1
        if failure.fatal:
            break
        if broken >= limits.problems:
            if following is not None:
                at = following.start()
                message = BROKEN.says.format(most=f"{limits.problems} documents")
                composed.problems.append(Problem("limit", message, Place(source, Span(at, at))))
            break
        if following is None:
            if end == len(text):
                break
            at, end = end, len(text)
        else:
            at = following.start()
    return composed


def _compose_slowly(composed: Composed, text: str, limits: Limits, progress: _Progress) -> bool:
    """Read one document in which a `:` stands inside plain text in flow style (`{image: nginx:1.27}`); whether it
    could be read.

    The C parser is of YAML 1.1 and refuses that; YAML 1.2 and Kubernetes read it. So the C parser is given another
    character in place of such colons; what it then still refuses is for the pure parser, which is slow: a long text is
    left broken.
    """
    if CParser is None:
        return False
    documents, problems, nodes = len(composed.documents), len(composed.problems), progress.nodes
    start = progress.start
    for events in (_tamed_events, _pure_events):
        if events is _pure_events:
            progress.slow += len(text)
        if progress.slow > _LONGEST_SLOW or (events is _tamed_events and _STAND_IN in text):
            continue
        try:
            _compose_from(composed, text, start, limits, progress, events(text).__next__)
        except (_Broken, YAMLError):
            del composed.documents[documents:], composed.problems[problems:]
            progress.nodes, progress.start = nodes, start
        else:
            return True
    return False


def _document_start(text: str, least: int, offset: int) -> int:
    """Where the document begins that holds `offset`: its `---` line, or `least`."""
    while True:
        offset = text.rfind("\n---", least, offset)
        if offset < 0:
            return least
        if _DOCUMENT_LINE.match(text, offset + 1) is not None:
            return offset + 1


def _events(text: str) -> Callable[[], Any]:
    """A function that returns the next event, as the C parser does it."""
    if CParser is not None:
        return cast("Callable[[], Any]", CParser(text).get_event)
    return _pure_events(text).__next__


def _tamed_events(text: str) -> Iterator[Any]:
    """The C parser's events of a text, with the colons that it refuses put back into the scalars."""
    next_event = _events(_COLON_INSIDE.sub(_STAND_IN, text))
    while (event := next_event()) is not None:
        if type(event) is ScalarEvent and _STAND_IN in event.value:
            event.value = event.value.replace(_STAND_IN, ":")
        yield event


def _pure_events(text: str) -> Iterator[Any]:
    from ruamel.yaml import YAML

    return cast("Iterator[Any]", YAML(typ="safe", pure=True).parse(text))


def _compose_from(
    composed: Composed,
    text: str,
    base: int,
    limits: Limits,
    progress: _Progress,
    events: Callable[[], Any] | None = None,
) -> None:
    """Append the documents of `text`, which stands at offset `base` of the source, from the fastest parser's events
    or those that are given.

    This is the hot path of the whole program: one loop over local variables, and no call a node that can be avoided.
    """
    source = composed.source
    next_event = _events(text) if events is None else events
    if text.startswith("\ufeff"):
        base += 1  # a second mark, which the parser does not count
    words, number_starts = WORDS, NUMBER_STARTS
    max_depth, max_nodes = limits.depth, limits.nodes

    nodes = progress.nodes
    depth = 0
    last_end = base  # where the last token that belongs to a node ends
    root: Node | None = None
    # The collection that is open: `add` appends to it, `in_mapping` tells its kind, `key` is a key without its value.
    current: Mapping | Sequence | None = None
    add: Callable[[Any], None] = [].append
    in_mapping = False
    key: Node | None = None
    stack: list[tuple[Any, Callable[[Any], None], bool, Node | None]] = []
    # Anchored nodes with their size and height, and the anchored collections that are still open, each with its depth,
    # the count of nodes at its start, and the greatest depth within it.
    anchors: dict[str, tuple[Node, int, int]] = {}
    open_anchors: list[list[Any]] = []
    expansion = 0

    try:
        while True:
            event = next_event()
            kind = type(event)
            if kind is ScalarEvent:
                value = event.value
                start = event.start_mark.index + base
                end = event.end_mark.index + base
                style = event.style
                node: Node
                if event.anchor is None and event.ctag is None:
                    if not style:
                        if end == start:
                            if key is not None and start > last_end and "\n" in source.text[last_end:start]:
                                start = end = last_end  # a missing value is placed after its key, not at the next token
                            node = Scalar(source, Span(start, end), value, None)
                        else:
                            node = Scalar(
                                source,
                                Span(start, end),
                                value,
                                resolve_plain(value) if value[0] in number_starts else words.get(value, value),
                            )
                    else:
                        if style in "|>":
                            end = _block_end(source.text, start, end)
                        node = Scalar(source, Span(start, end), value, value, _STYLES[style])
                else:
                    node = _scalar_with_properties(source, event, start, end, last_end)
                    end = node.span.end
                    if event.anchor is not None:
                        anchors[event.anchor] = (node, 1, 0)
                last_end = end
                if in_mapping:
                    if key is None:
                        key = node
                    else:
                        add(Entry(key, node))
                        key = None
                elif current is not None:
                    add(Item(node))
                else:
                    root = node
                nodes += 1
                if nodes > max_nodes:
                    raise _Broken(_too_many(source, start, limits), fatal=True)

            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                start = event.start_mark.index + base
                end = event.end_mark.index + base
                flow = bool(event.flow_style)
                anchor = event.anchor
                collection: Mapping | Sequence
                if anchor is None and event.ctag is None:
                    span = Span(start, start)
                    collection = Mapping(source, span) if kind is MappingStartEvent else Sequence(source, span)
                else:
                    start = _collection_start(source.text, end, flow)
                    span = Span(start, start)
                    collection = Mapping(source, span) if kind is MappingStartEvent else Sequence(source, span)
                    collection.anchor = anchor
                    collection.tag = None if event.ctag is None else str(event.ctag)
                if flow:
                    collection.flow = True
                if in_mapping:
                    if key is None:
                        key = collection
                    else:
                        add(Entry(key, collection))
                        key = None
                elif current is not None:
                    add(Item(collection))
                else:
                    root = collection
                stack.append((current, add, in_mapping, key))
                current = collection
                in_mapping = kind is MappingStartEvent
                add = current.entries.append if isinstance(current, Mapping) else current.items.append
                key = None
                depth += 1
                nodes += 1
                last_end = max(end, start)
                if depth > max_depth:
                    raise _Broken(_too_deep(source, start, limits))
                if open_anchors and depth > open_anchors[-1][3]:
                    open_anchors[-1][3] = depth
                if anchor is not None:
                    open_anchors.append([collection, depth, nodes - 1, depth])
                    anchors.pop(anchor, None)

            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                assert current is not None
                start = current.span.start
                if current.flow and source.text[start : start + 1] in "[{":
                    last_end = event.end_mark.index + base
                current.span = Span(start, max(start, last_end))
                closed = current
                current, add, in_mapping, key = stack.pop()
                depth -= 1
                if open_anchors and open_anchors[-1][0] is closed:
                    _, own_depth, before, deepest = open_anchors.pop()
                    anchors[closed.anchor or ""] = (closed, nodes - before, deepest - own_depth + 1)
                    if open_anchors and deepest > open_anchors[-1][3]:
                        open_anchors[-1][3] = deepest
                if kind is MappingEndEvent:
                    closed = cast("Mapping", closed)
                    entries = closed.entries
                    try:
                        index = {entry.key.text: entry for entry in entries}  # type: ignore[attr-defined]
                    except AttributeError:
                        index = {entry.name: entry for entry in entries}
                    if len(index) == len(entries) and "<<" not in index and "" not in index:
                        closed._index = index
                    else:
                        stand_in = _unusual_mapping(composed, closed, progress.start)
                        if stand_in is not None:
                            if closed.anchor is not None:
                                anchors[closed.anchor] = (stand_in, 1, 0)
                            if key is closed:
                                key = stand_in
                            elif isinstance(current, Mapping):
                                current.entries[-1].value = stand_in
                            elif current is not None:
                                current.items[-1].value = stand_in
                            else:
                                root = stand_in

            elif kind is AliasEvent:
                start = event.start_mark.index + base
                end = event.end_mark.index + base
                last_end = end
                span = Span(start, end)
                found = anchors.get(event.anchor)
                if found is None:
                    inside = any(open_anchor[0].anchor == event.anchor for open_anchor in open_anchors)
                    raise _Broken(_bad_alias(source, span, event.anchor, inside))
                target, size, height = found
                nodes += size
                expansion += size
                if expansion > limits.expansion or nodes > max_nodes:
                    raise _Broken(_too_much_expansion(source, span, event.anchor, limits))
                if depth + height > max_depth:
                    raise _Broken(_too_deep(source, start, limits))
                if open_anchors and depth + height > open_anchors[-1][3]:
                    open_anchors[-1][3] = depth + height
                if in_mapping:
                    if key is None:
                        key = target
                    else:
                        add(Entry(key, target, span))
                        key = None
                elif current is not None:
                    add(Item(target, span))
                else:
                    root = target

            elif kind is DocumentStartEvent:
                progress.start = event.start_mark.index + base
                last_end = event.end_mark.index + base
                root = None
                anchors = {}
                open_anchors = []
                expansion = 0

            elif kind is DocumentEndEvent:
                end = event.end_mark.index + base
                if _is_nothing(root):
                    root = None
                documents = composed.documents
                documents.append(Document(source, len(documents), Span(progress.free, end), root))
                progress.start = progress.free = end
                nodes += 1  # a source may hold any number of empty documents
                if nodes > max_nodes:
                    raise _Broken(_too_many(source, end, limits), fatal=True)

            elif kind is StreamEndEvent or event is None:
                return
            else:
                assert kind is StreamStartEvent
    finally:
        progress.nodes = nodes


def _is_nothing(node: Node | None) -> bool:
    return isinstance(node, Scalar) and not node.text and node.style == "plain" and node.anchor is node.tag is None


def _block_end(text: str, start: int, end: int) -> int:
    """Where the last line with content of a block scalar ends; the parser's own mark is at the next token."""
    end = start + len(text[start:end].rstrip())
    while end < len(text) and text[end] in " \t":
        end += 1
    return end


def _collection_start(text: str, end: int, flow: bool) -> int:
    """Where a collection begins after its anchor and tag; `end` is the end mark of its start event."""
    if flow:
        return end - 1 if text[end - 1 : end] in ("[", "{") else end
    # The mark of a sequence that is not indented below its key is after the dash, that of an indented one before it.
    return end - 1 if text[end - 1 : end] == "-" else end


def _scalar_with_properties(source: Source, event: Any, start: int, end: int, limit: int) -> Scalar:
    """A scalar with an anchor or a tag, which its span leaves out."""
    text: str = event.value
    style = _STYLES.get(event.style or "", "plain")
    tag = None if event.ctag is None else str(event.ctag)
    match = _PROPERTIES.match(source.text, max(start, limit), end)
    if match is not None:
        start = match.end()
        if start == end and style == "plain" and not text:
            start = end = match.start() + len(match[0].rstrip())
    if style in ("literal", "folded"):
        end = _block_end(source.text, start, end)
    value = resolve_tagged(text, tag) if tag is not None else text
    if tag is None and style == "plain":
        value = resolve_plain(text)
    return Scalar(source, Span(start, max(start, end)), text, value, style, anchor=event.anchor, tag=tag)


def _unusual_mapping(composed: Composed, node: Mapping, start: int) -> Scalar | None:
    """Deal with merge keys, duplicate keys, and keys that are no text.

    Returns a scalar that stands for the whole mapping where it is really the template text `{{ … }}`, which YAML
    reads as a mapping with a mapping as its key.
    """
    source = node.source
    entries = node.entries
    if node.flow and len(entries) == 1 and isinstance(entries[0].key, Mapping) and entries[0].key.flow:
        shown = source.text[node.span.start : node.span.end]
        if shown.startswith("{{"):
            from kube_gaplint.text.syntax import TEMPLATE_TEXT

            _report_once(composed, Problem("syntax", TEMPLATE_TEXT, Place(source, node.span)), since=start)
            return Scalar(source, node.span, shown, shown, "plain")
    own: list[Entry] = []
    seen: dict[str, Entry] = {}
    for entry in entries:
        key = entry.key
        if not isinstance(key, Scalar):
            _report(composed, "syntax", "a list or a mapping cannot be a key", key.place)
            own.append(entry)
            continue
        if key.text == "<<" and (key.tag == _MERGE_TAG or (key.style == "plain" and key.tag is None)):
            found = _merged_mappings(entry.value)
            if found is None:
                _report(composed, "syntax", "`<<` takes a mapping, or a list of mappings", entry.place)
                continue
            node.merged[:0] = found  # a later merge key overrides an earlier one
            continue
        own.append(entry)
        if not key.text and key.style == "plain" and key.tag is None:
            _report(composed, "syntax", "a key is missing before the `:`", key.place)
        earlier = seen.setdefault(key.text, entry)
        if earlier is not entry and len(composed.problems) < _MOST_PROBLEMS:
            line = source.position(earlier.key.span.start).line
            shown = key.text if len(key.text) <= 60 else key.text[:59] + "…"
            if _are_equal(earlier.value, entry.value):
                message = f"the key `{shown}` is given twice (first on line {line}), with the same value"
                _report(composed, "repeated-key", message, key.place)
                continue
            message = f"the key `{shown}` is given twice (first on line {line}): only the last one counts"
            _report(composed, "duplicate-key", message, key.place)
    node.entries = own
    node.changed()
    return None


def _are_equal(first: Node, second: Node) -> bool:
    """Whether two nodes surely have the same value, however they are written. False where there is much to compare."""
    pairs: list[tuple[Node | None, Node | None]] = [(first, second)]
    for _ in range(_MOST_COMPARED):
        if not pairs:
            return True
        one, other = pairs.pop()
        if one is other:
            continue
        if isinstance(one, Scalar) and isinstance(other, Scalar):
            if type(one.value) is not type(other.value) or one.value != other.value:
                return False
        elif isinstance(one, Sequence) and isinstance(other, Sequence) and len(one) == len(other) <= _MOST_COMPARED:
            pairs.extend(zip(one, other, strict=True))
        elif isinstance(one, Mapping) and isinstance(other, Mapping):
            if max(len(one.entries), len(other.entries)) > _MOST_COMPARED:
                return False
            names = [entry.name for entry in one]
            if set(names) != {entry.name for entry in other}:
                return False
            pairs.extend((one.get(name), other.get(name)) for name in names)
        else:
            return False
    return not pairs


def _merged_mappings(value: Node) -> list[Mapping] | None:
    if isinstance(value, Mapping):
        return [value]
    if isinstance(value, Sequence):
        found = [item for item in value if isinstance(item, Mapping)]
        return found if len(found) == len(value) else None
    return None


def _report(composed: Composed, kind: ProblemKind, message: str, place: Place) -> None:
    composed.problems.append(Problem(kind, message, place))


def _report_once(composed: Composed, problem: Problem, since: int) -> None:
    """Report a problem unless the document that begins at `since` has shown the same already."""
    for earlier in composed.problems:
        if earlier.message == problem.message and earlier.place.span.start > since:
            return
    composed.problems.append(problem)


def _syntax_problem(source: Source, error: MarkedYAMLError, base: int) -> Problem:
    from kube_gaplint.text.syntax import explain

    mark, context_mark = error.problem_mark or error.context_mark, error.context_mark
    at = len(source.text) if mark is None else base + mark.index
    context_at = None if context_mark is None else base + context_mark.index
    message, span = explain(source, str(error.problem or ""), at, str(error.context or ""), context_at)
    return Problem("syntax", message, Place(source, span))


def _unprintable_problem(source: Source, at: int) -> Problem:
    character = source.text[at : at + 1]
    message = "YAML does not allow this character"
    if character:
        message += f" (U+{ord(character):04X})"
    return Problem("syntax", message, Place(source, Span(at, at + len(character))))


def _bad_alias(source: Source, span: Span, name: str, inside: bool) -> Problem:
    if inside:
        message = f"the alias `*{name}` stands inside the value that it repeats"
    else:
        message = f"the alias `*{name}` has no anchor `&{name}` before it: put the text in quotes if none is meant"
    return Problem("syntax", message, Place(source, span))


def _too_deep(source: Source, at: int, limits: Limits) -> Problem:
    return Problem("limit", DEPTH.says.format(most=f"{limits.depth} levels"), Place(source, Span(at, at)))


def _too_many(source: Source, at: int, limits: Limits) -> Problem:
    return Problem("limit", NODES.says.format(most=f"{limits.nodes:,} values"), Place(source, Span(at, at)))


def _too_much_expansion(source: Source, span: Span, name: str, limits: Limits) -> Problem:
    most = min(limits.expansion, limits.nodes)
    return Problem("limit", f"aliases such as `*{name}` expand to more than {most:,} values", Place(source, span))
