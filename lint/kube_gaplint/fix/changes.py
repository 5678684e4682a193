"""From the changes that a finding proposes to edits of files."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.facts.order import BULK
from kube_gaplint.findings import (
    AddLine,
    AddOption,
    AppendItem,
    Change,
    Finding,
    RemoveEntry,
    RenameKey,
    ReplaceValue,
    SetKey,
    SetVariable,
)
from kube_gaplint.fix.desk import Desk, Draft, OpenFile, Refused
from kube_gaplint.fix.expected import Expected
from kube_gaplint.fix.scripts import Script, inside_quotes
from kube_gaplint.model.setting import Origin
from kube_gaplint.text.edit import (
    Edit,
    Tree,
    append_item,
    insert_items,
    remove_entry,
    rename_key,
    replace_scalar,
    set_key,
)
from kube_gaplint.text.nodes import Entry, Item, Mapping, Node, Scalar, Sequence, text_at
from kube_gaplint.text.resolve import resolve_plain
from kube_gaplint.text.source import Source, Span

_DIRECTIVE = "#SBATCH"
_SPOILS = "the file is written in a way that cannot be edited safely there"
_REPEATED = "an alias repeats it, so that the fix would change other places as well"
_RUNS_A_STRING = lazy_re.compile(r"-[A-Za-z]*c")
_BLANK = lazy_re.compile(r"\s")
_NOTHING_WHEN_EMPTY = frozenset({"annotations", "labels", "limits", "requests", "resources"})
"""Mappings that say nothing when nothing is in them."""
_ASSIGNED = lazy_re.compile(r"([A-Za-z_]\w*)=")


def drafts_of(finding: Finding, desk: Desk) -> list[Draft]:
    """The edits that make the fix of a finding. Raises Refused where one of them cannot be made."""
    assert finding.fix is not None
    drafts = []
    for change in _grouped(finding.fix.changes):
        for origin in _origins(change):
            _refuse_shared(finding, origin, desk)
        drafts += _draft(change, finding, desk)
    return _in_place_of_what_goes(drafts)


def _in_place_of_what_goes(drafts: list[Draft]) -> list[Draft]:
    """The drafts, with a line that goes behind an entry which the same finding removes in the place of that entry."""
    for one in range(len(drafts)):
        for other in range(len(drafts)):
            if one != other and drafts[one].file is drafts[other].file:
                drafts[one], drafts[other] = _joined(drafts[one], drafts[other])
    return drafts


def _joined(removing: Draft, putting: Draft) -> tuple[Draft, Draft]:
    text = removing.file.text
    for gone in removing.edits:
        line_end = "\r\n" if text.endswith("\r\n", gone.span.start, gone.span.end) else "\n"
        end = gone.span.end - len(line_end)
        for put in putting.edits:
            if gone.text or put.span != Span(end, end) or not put.text.startswith(line_end):
                continue
            instead = Edit(gone.span, put.text[len(line_end) :] + line_end)
            return (
                replace(removing, edits=tuple(edit for edit in removing.edits if edit is not gone)),
                replace(putting, edits=tuple(instead if edit is put else edit for edit in putting.edits)),
            )
    return removing, putting


class _Variables(Struct):
    """All variables that one finding sets in one place."""

    home: Origin
    values: dict[str, str] = field(default_factory=dict)


class _Keys(Struct):
    """All keys that one finding sets below one mapping, nested."""

    parent: Origin
    values: dict[str, object] = field(default_factory=dict)

    def put(self, path: tuple[str, ...], value: object) -> None:
        level = self.values
        for name in path[:-1]:
            below = level.setdefault(name, _Nested())
            if not isinstance(below, _Nested):
                raise Refused("its changes contradict one another")
            level = below
        level[path[-1]] = value


class _Nested(dict[str, object]):
    """A mapping that is made for a path, unlike one that is a value itself."""


_Grouped = _Variables | _Keys | AppendItem | ReplaceValue | RenameKey | RemoveEntry | AddOption | AddLine


def _grouped(changes: tuple[Change, ...]) -> list[_Grouped]:
    """Changes of one kind at one place belong together: two of them must not both write the `env` that is missing."""
    groups: list[_Grouped] = []
    variables: dict[tuple[str, Span], _Variables] = {}
    keys: dict[tuple[str, Span], _Keys] = {}
    for change in changes:
        if isinstance(change, SetVariable):
            where = _key(change.home)
            if where not in variables:
                variables[where] = _Variables(change.home)
                groups.append(variables[where])
            variables[where].values[change.name] = change.value
        elif isinstance(change, SetKey):
            where = _key(change.parent)
            if where not in keys:
                keys[where] = _Keys(change.parent)
                groups.append(keys[where])
            keys[where].put(change.path, change.value)
        else:
            groups.append(change)
    return groups


def _key(origin: Origin) -> tuple[str, Span]:
    place = origin.place if origin.node is None else origin.node.place
    return place.source.path, place.span


def _origins(change: _Grouped) -> tuple[Origin, ...]:
    if isinstance(change, _Variables):
        return (change.home,)
    return (change.parent,) if isinstance(change, _Keys | AppendItem) else (change.origin,)


def _draft(change: _Grouped, finding: Finding, desk: Desk) -> list[Draft]:
    if isinstance(change, _Variables):
        return _set_variables(change, finding, desk)
    if isinstance(change, _Keys):
        return [_set_keys(change, desk)]
    if isinstance(change, AppendItem):
        return [_append_item(change, desk)]
    if isinstance(change, ReplaceValue):
        return [_replace_value(change, desk)]
    if isinstance(change, RenameKey):
        return [_rename(change, desk)]
    if isinstance(change, RemoveEntry):
        return [_remove(change, desk)]
    if isinstance(change, AddOption):
        return [_add_option(change, desk)]
    return [_add_line(change, desk)]


# Where things stand


def _refuse_shared(finding: Finding, origin: Origin, desk: Desk) -> None:
    """A value that was reached through references may serve others, too: it is theirs to decide, unless the finding
    speaks of that very document."""
    if not origin.chain:
        return
    place, own = origin.place, finding.origin.place
    if place.source.path == own.source.path:
        file = desk.open(place)
        if not file.is_yaml or file.tree_at(file.at(place.span).start) is file.tree_at(file.at(own.span).start):
            return
    raise Refused(f"the value stands in {place!r}, which others may share")


def _node(origin: Origin, desk: Desk) -> tuple[OpenFile, Tree, Node] | None:
    """The present form of the node at an origin; None where it has none."""
    node = origin.node
    if node is None:
        return None
    if type(node.source) is not Source:
        raise Refused("the value stands in no file")
    file = desk.open(node.place)
    if not file.is_yaml:
        return None
    tree, found = file.node(node)
    if tree.repeated(found):
        raise Refused(_REPEATED)
    return file, tree, found


def _span(origin: Origin, desk: Desk) -> tuple[OpenFile, Span]:
    if type(origin.place.source) is not Source:
        raise Refused("the value stands in no file")
    file = desk.open(origin.place)
    return file, file.at(origin.place.span)


def _variable_item(tree: Tree, node: Node) -> tuple[Mapping, Scalar] | None:
    """The `{name: …, value: …}` entry of an environment whose value a node is, with the scalar of its name."""
    held = tree.held(node)
    if held is None or not isinstance(held.slot, Entry) or held.slot.name != "value":
        return None
    parent = held.parent
    assert isinstance(parent, Mapping)
    name = parent.get("name")
    return (parent, name) if isinstance(name, Scalar) else None


def _made(file: OpenFile, tree: Tree, edits: list[Edit] | None, change: Callable[[Expected], None]) -> Draft:
    if edits is None:
        raise Refused(_SPOILS)
    return Draft(file, tuple(edits), ((tree, change),))


# The changes


def _set_variables(change: _Variables, finding: Finding, desk: Desk) -> list[Draft]:
    drafts: list[Draft] = []
    rest: dict[str, str] = {}
    for name, value in change.values.items():
        written = _at_its_place(name, value, finding, desk)
        if written is None:
            rest[name] = value
        else:
            drafts.append(written)
    if not rest:
        return drafts
    found = _node(change.home, desk)
    if found is not None and isinstance(found[2], Mapping):
        return drafts + _in_container(found[0], found[1], found[2], rest)
    file, span = _span(change.home, desk)
    script = Script.around(file, span)
    return drafts + [
        _add_to_header(script, span, f"export {name}={shlex.quote(value)}") for name, value in rest.items()
    ]


def _at_its_place(name: str, value: str, finding: Finding, desk: Desk) -> Draft | None:
    """The edit that replaces the value where the finding shows the variable set; None where it shows no such place."""
    found = _node(finding.origin, desk)
    if found is not None:
        file, tree, node = found
        item = _variable_item(tree, node)
        if item is None or item[1].text != name or not isinstance(node, Scalar):
            return None
        return _replaced(file, tree, node, value, as_text=True)
    try:
        file, span = _span(finding.origin, desk)
    except Refused:
        return None
    if not file.text.startswith(f"{name}=", span.start) or span.end <= span.start + len(name):
        return None
    script = Script.around(file, span)
    return script.replace(Span(span.start + len(name) + 1, span.end), shlex.quote(value))


def _in_container(file: OpenFile, tree: Tree, container: Mapping, values: dict[str, str]) -> list[Draft]:
    entry = container.entry("env")
    own = next((own for own in container.entries if own is entry), None)
    if entry is not None and own is None:
        raise Refused("its environment is merged from elsewhere")
    drafts: list[Draft] = []
    missing: list[object] = []
    items = own.value if own is not None else None
    for name, value in values.items():
        item = _last_named(items, name) if isinstance(items, Sequence) else None
        if item is None:
            missing.append({"name": name, "value": value})
            continue
        scalar = item.get("value")
        if not isinstance(scalar, Scalar):
            raise Refused(f"{name} takes its value from elsewhere")
        if scalar.text != value:
            drafts.append(_replaced(file, tree, scalar, value, as_text=True))
    if not missing:
        return drafts or [Draft(file, ())]
    if isinstance(items, Sequence) and items.items:
        if own is not None and own.alias is not None:
            raise Refused(_REPEATED)
        edits: list[Edit] = []
        for item_data in missing:
            made = append_item(tree, items, item_data)
            if made is None:
                raise Refused(_SPOILS)
            edits += made
        sequence = items

        def append(expected: Expected) -> None:
            for item_data in missing:
                expected.append(sequence, item_data)

        return [*drafts, Draft(file, tuple(edits), ((tree, append),))]
    edits_or_none = set_key(tree, container, ("env",), missing)
    return [*drafts, _made(file, tree, edits_or_none, lambda expected: expected.set(container, ("env",), missing))]


def _last_named(items: Sequence, name: str) -> Mapping | None:
    """The entry in force of an environment: the last of its name."""
    for item in reversed(items.items):
        if isinstance(item.value, Mapping) and text_at(item.value, "name") == name:
            return item.value
    return None


def _set_keys(change: _Keys, desk: Desk) -> Draft:
    found = _node(change.parent, desk)
    if found is None:
        raise Refused("there is no mapping to write to")
    file, tree, parent = found
    if not isinstance(parent, Mapping):
        raise Refused("there is no mapping to write to")
    edits: list[Edit] = []
    changes: list[Callable[[Expected], None]] = []
    _set_nested(tree, parent, change.values, edits, changes)

    def all_of_them(expected: Expected) -> None:
        for one in changes:
            one(expected)

    return Draft(file, tuple(edits), ((tree, all_of_them),))


def _append_item(change: AppendItem, desk: Desk) -> Draft:
    found = _node(change.parent, desk)
    if found is None:
        raise Refused("there is no mapping to write to")
    file, tree, parent = found
    if not isinstance(parent, Mapping):
        raise Refused("there is no mapping to write to")
    entry = next((entry for entry in reversed(parent.entries) if entry.name == change.key), None)
    if entry is None and change.key in parent:
        raise Refused(f"`{change.key}` is merged from elsewhere")
    if entry is not None and entry.alias is not None:
        raise Refused(_REPEATED)
    items = None if entry is None else entry.value
    if isinstance(items, Sequence) and items.items:
        sequence = items
        edits = append_item(tree, sequence, change.item)
        return _made(file, tree, edits, lambda expected: expected.append(sequence, change.item))
    return _made(
        file,
        tree,
        set_key(tree, parent, (change.key,), [change.item]),
        _setting(parent, change.key, [change.item]),
    )


def _set_nested(
    tree: Tree,
    parent: Mapping,
    values: dict[str, object],
    edits: list[Edit],
    changes: list[Callable[[Expected], None]],
) -> None:
    for name, value in values.items():
        entry = next((entry for entry in reversed(parent.entries) if entry.name == name), None)
        below = None if entry is None else entry.value
        if entry is not None and isinstance(value, _Nested) and isinstance(below, Mapping):
            if entry.alias is not None:
                raise Refused(_REPEATED)
            if below.entries or below.merged:
                _set_nested(tree, below, value, edits, changes)
                continue
        if entry is None and name in parent:
            raise Refused(f"`{name}` is merged from elsewhere")
        if entry is not None and isinstance(entry.value, Scalar) and entry.value.value == value:
            continue
        plain = _plain(value)
        made = set_key(tree, parent, (name,), plain, bulk=() if isinstance(plain, list | tuple) else BULK)
        if made is None:
            raise Refused(_SPOILS)
        edits += made
        changes.append(_setting(parent, name, plain))


def _setting(parent: Mapping, name: str, value: object) -> Callable[[Expected], None]:
    return lambda expected: expected.set(parent, (name,), value)


def _plain(value: object) -> object:
    if isinstance(value, _Nested):
        return {name: _plain(below) for name, below in value.items()}
    return value


def _replaced(file: OpenFile, tree: Tree, node: Scalar, text: str, *, as_text: bool = False) -> Draft:
    """A scalar with another text. What is a number, a bool or a null stays something that is no text, unless Kubernetes
    takes nothing but text there (`as_text`)."""
    value: object = text if as_text or isinstance(node.value, str) else resolve_plain(text)
    edits = replace_scalar(tree, node, value)
    return _made(file, tree, edits, lambda expected: expected.replace(node, text, as_text=as_text))


def _scalar_or_text(origin: Origin, desk: Desk) -> tuple[OpenFile, Tree, Node] | None:
    """As `_node`, but None also where the node is that of YAML inside a text: the text is edited then."""
    try:
        return _node(origin, desk)
    except Refused as refused:
        if refused.reason == _REPEATED:
            raise
        return None


def _replace_value(change: ReplaceValue, desk: Desk) -> Draft:
    found = _scalar_or_text(change.origin, desk)
    if found is not None:
        file, tree, node = found
        if not isinstance(node, Scalar):
            raise Refused("there is no value to replace")
        span = file.at(change.origin.place.span)
        if span.start <= node.span.start and node.span.end <= span.end:
            return _replaced(file, tree, node, change.text, as_text=change.as_text)
    file, span = _span(change.origin, desk)
    script = Script.around(file, span)
    if script.scalar is not None and script.tree is not None and script.scalar.span == span:
        return _replaced(file, script.tree, script.scalar, change.text)
    return script.replace(span, change.text if change.raw else shlex.quote(change.text))


def _rename(change: RenameKey, desk: Desk) -> Draft:
    found = _scalar_or_text(change.origin, desk)
    if found is not None:
        file, tree, node = found
        held = tree.held(node)
        if held is None or not isinstance(held.slot, Entry):
            raise Refused("there is no key to rename")
        variable = _variable_item(tree, node)
        if variable is not None:
            return _replaced(file, tree, variable[1], change.text)
        key = held.slot.key
        if held.slot.name == "name" and node is held.slot.value and isinstance(node, Scalar):
            return _replaced(file, tree, node, change.text)  # the name of a variable
        if not isinstance(key, Scalar):
            raise Refused("there is no key to rename")
        edits = rename_key(tree, key, change.text)
        return _made(file, tree, edits, lambda expected: expected.replace(key, change.text))
    file, span = _span(change.origin, desk)
    script = Script.around(file, span)
    assigned = _ASSIGNED.match(file.text, span.start, span.end)
    if assigned is not None:
        span = Span(assigned.start(1), assigned.end(1))
    return script.replace(span, change.text)


def _remove(change: RemoveEntry, desk: Desk) -> Draft:
    found = _node(change.origin, desk)
    if found is None:
        file, span = _span(change.origin, desk)
        script = Script.around(file, span)
        if script.scalar is None or script.scalar.span != span or script.tree is None:
            return script.remove(span)
        tree = script.tree
        node: Node = script.scalar
    else:
        file, tree, node = found
        variable = _variable_item(tree, node)
        if variable is not None:
            node = variable[0]
    held = tree.held(node)
    if held is None:
        raise Refused("there is no entry to remove")
    parent, slot = held.parent, held.slot
    while isinstance(parent, Mapping) and len(parent.entries) == 1 and not parent.merged and parent.anchor is None:
        above = tree.held(parent)
        if above is None or not isinstance(above.slot, Entry) or above.slot.name not in _NOTHING_WHEN_EMPTY:
            break
        node, parent, slot = parent, above.parent, above.slot
    edits = remove_entry(tree, parent, slot)
    return _made(file, tree, edits, lambda expected: expected.remove(parent, node))


def _add_option(change: AddOption, desk: Desk) -> Draft:
    file, span = _span(change.origin, desk)
    script = Script.around(file, span)
    scalar, tree = script.scalar, script.tree
    if scalar is not None and tree is not None:
        held = tree.held(scalar)
        one_word = inside_quotes(scalar) == span or scalar.span == span or not _BLANK.search(scalar.text)
        if one_word and held is not None and isinstance(held.slot, Item) and isinstance(held.parent, Sequence):
            sequence = held.parent
            index = next(index for index, item in enumerate(sequence.items) if item is held.slot)
            if not _is_string_of_a_shell(sequence, index):
                words: list[object] = list(change.words)
                edits = insert_items(tree, sequence, index, words)
                return _made(file, tree, edits, lambda expected: expected.insert(sequence, scalar, words))
    return script.add_words(span, change.words)


def _is_string_of_a_shell(sequence: Sequence, index: int) -> bool:
    """Whether an item of an exec array is the text that `sh -c` runs."""
    before = sequence.items[index - 1].value if index > 0 else None
    return isinstance(before, Scalar) and _RUNS_A_STRING.fullmatch(before.text) is not None


def _add_line(change: AddLine, desk: Desk) -> Draft:
    file, span = _span(change.origin, desk)
    script = Script.around(file, span)
    if change.where == "header":
        return _add_to_header(script, span, change.line)
    return script.add_line_before(span, change.line)


def _add_to_header(script: Script, span: Span, line: str) -> Draft:
    """Behind the #SBATCH block, or the `#!` line; before the first line of a script without either."""
    shown = script.file.text[span.start : span.end]
    if shown.lstrip().startswith("#"):
        # sbatch reads no directive behind the first command, which an export is.
        beside = "" if line.startswith(_DIRECTIVE) else "export "
        return script.add_line_after(span, line, (_DIRECTIVE,), beside)
    return script.add_line_before(span, line)
