"""Environment variables and `$(VAR)` references, as the kubelet makes them.

envFrom first, in order; then env, in order; the last one of a name wins. A value may refer to variables before it
with `$(NAME)`; `$$(NAME)` is the text `$(NAME)`; a reference to nothing stays as it is written. The same expansion
applies to `command` and `args` with the whole environment.
(kubernetes pkg/kubelet/kubelet_pods.go makeEnvironmentVariables; third_party/forked/golang/expansion.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.kinds.fields import Part, before_placeholder
from kube_gaplint.model.command import Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Link, Origin, Set, Setting, Unknown
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.source import Place, PlacedText
from kube_gaplint.text.templates import placeholder

if TYPE_CHECKING:
    from kube_gaplint.kinds.context import Context

_IDENTIFIER = lazy_re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
_LONGEST = 1 << 20


class Piece(Struct, frozen=True):
    """A stretch of a text after expansion: `text[start:end]` of the source gave `value`."""

    start: int
    end: int
    value: str | Unknown
    name: str = ""
    """The variable, where the piece comes from a reference."""


def expand(text: str, lookup: Callable[[str], Setting[str]]) -> list[Piece]:
    """The pieces of a text after `$(VAR)` expansion. A reference to an absent variable stays as it is written."""
    pieces: list[Piece] = []
    at = plain = 0
    while True:
        at = text.find("$", at)
        if at < 0 or at + 1 >= len(text):
            break
        after = text[at + 1]
        if after == "$":
            pieces.append(Piece(plain, at + 1, text[plain : at + 1]))
            at = plain = at + 2
            continue
        close = text.find(")", at + 2) if after == "(" else -1
        if close < 0:
            if after == "(":
                break  # no closing parenthesis in the rest: nothing more can be a reference
            at += 2
            continue
        name = text[at + 2 : close]
        value = lookup(name)
        if isinstance(value, Absent):
            at = close + 1
            continue
        if plain < at:
            pieces.append(Piece(plain, at, text[plain:at]))
        pieces.append(Piece(at, close + 1, value.value if isinstance(value, Set) else value, name))
        at = plain = close + 1
    if plain < len(text) or not pieces:
        pieces.append(Piece(plain, len(text), text[plain:]))
    return pieces


class Expanded(Struct, frozen=True):
    """A text after expansion whose characters still know their places."""

    text: str
    base: PlacedText
    segments: tuple[tuple[int, int, bool], ...]
    """(start in the new text, start in the base, whether it maps one to one)."""

    def _base_offset(self, offset: int, at_end: bool) -> int:
        from bisect import bisect_right

        starts = [segment[0] for segment in self.segments]
        index = max(0, bisect_right(starts, offset - 1 if at_end and offset else offset) - 1)
        start, base, exact = self.segments[index]
        if exact:
            return base + offset - start
        if at_end and index + 1 < len(self.segments):
            return self.segments[index + 1][1]
        return len(self.base.text) if at_end else base

    def place(self, start: int, end: int) -> Place:
        first = self._base_offset(start, False)
        return self.base.place(first, self._base_offset(end, True) if end > start else first)


def script_text(base: PlacedText, pieces: list[Piece]) -> PlacedText:
    """The text that a shell would read: unknown references become `${VAR}`, which the shell knows as unknown too."""
    if len(pieces) == 1 and pieces[0].value == base.text:
        return base
    out: list[str] = []
    segments: list[tuple[int, int, bool]] = []
    length = 0
    for piece in pieces:
        if isinstance(piece.value, Unknown):
            name = piece.name if _IDENTIFIER.match(piece.name) else "_"
            value, exact = "${" + name + "}", False
        else:
            value, exact = piece.value, not piece.name and piece.end - piece.start == len(piece.value)
        segments.append((length, piece.start, exact))
        out.append(value)
        length += len(value)
    return Expanded("".join(out), base, tuple(segments))


def text_of(pieces: list[Piece], origin: Origin, *, template: bool = True) -> Setting[str]:
    """The whole text where all of it is known."""
    if _too_long(pieces):
        return Unknown("its references expand to more text than gaplint reads", origin)
    known: list[str] = []
    for piece in pieces:
        if isinstance(piece.value, Unknown):
            return Unknown(piece.value.reason, origin, prefix="".join(known))
        known.append(piece.value)
    text = "".join(known)
    reason = placeholder(text) if template else ""
    return Unknown(reason, origin, prefix=before_placeholder(text)) if reason else Set(text, origin)


def _too_long(pieces: list[Piece]) -> bool:
    """Chains of references (`A=$(B)$(B)`, `B=$(C)$(C)` …) double with every link."""
    total = sum(len(piece.value) for piece in pieces if isinstance(piece.value, str))
    return total > max(_LONGEST, 2 * (pieces[-1].end - pieces[0].start))


def word_of(part: Part, environment: Environment) -> Word:
    """An element of `command` or `args` after expansion."""
    node = part.node
    if not isinstance(node, Scalar):
        reason = part.unknown or "an element of the command is no text"
        return Word((Unknown(reason, part.origin),), part.place, multiple=bool(part.unknown))
    from kube_gaplint.text.scalar_text import scalar_text

    pieces = expand(node.text, lambda name: _for_reference(environment, name))
    if _too_long(pieces):
        return Word((Unknown("its references expand to more text than gaplint reads", part.origin),), part.place)
    placed = script_text(scalar_text(node), pieces)
    out: list[str | Unknown] = []
    for piece in pieces:
        out.extend([piece.value] if isinstance(piece.value, Unknown) or piece.name else _template_pieces(piece.value))
    return Word(tuple(_joined(out)) or ("",), part.place, placed=placed)


def _for_reference(environment: Environment, name: str) -> Setting[str]:
    """What a reference gives: an open environment makes only plausible variable names unknown."""
    found = environment.get(name)
    if isinstance(found, Unknown) and name not in environment and not (_IDENTIFIER.match(name) and name.isupper()):
        return Absent(environment.home)
    return found


_TEMPLATE = lazy_re.needing(
    ("{{", "$"), r"\{\{.*?\}\}|\$\{[A-Za-z_][A-Za-z0-9_]*(?:[:\-=+?][^}]*)?\}|\$[A-Z_][A-Z0-9_]{2,}", re.DOTALL
)


def _template_pieces(text: str) -> Iterator[str | Unknown]:
    """A plain text with the template expressions in it as unknown parts.

    No shell sees the words of an exec array, so `${NAME}` in one can only be meant for a tool that fills in the
    manifest. A script keeps it: `Word.placed` holds the text as it stands.
    """
    at = 0
    for match in _TEMPLATE.finditer(text):
        if match.start() > at:
            yield text[at : match.start()]
        reason = placeholder(match.group()) or "a placeholder"
        yield Unknown(reason)
        at = match.end()
    if at < len(text) or not at:
        yield text[at:]


def _joined(pieces: list[str | Unknown]) -> list[str | Unknown]:
    out: list[str | Unknown] = []
    for piece in pieces:
        if isinstance(piece, str) and out and isinstance(out[-1], str):
            out[-1] += piece
        elif piece != "" or not out:
            out.append(piece)
    if len(out) > 1 and out[0] == "":
        out.pop(0)
    return out


_REFERENCE = lazy_re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_HANDED_ON = lazy_re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)=")


def references_of(container: Part) -> frozenset[str]:
    """Variables that a container's command, arguments and other variables make use of by `$(NAME)`; not those that
    are only handed on under the same name (`-x NAME=$(NAME)`)."""
    found: set[str] = set()
    for part in (*container.at("command").items(), *container.at("args").items()):
        if isinstance(part.node, Scalar) and "$(" in part.node.text:
            text = part.node.text[:_LONGEST]
            found.update(set(_REFERENCE.findall(text)) - set(_HANDED_ON.findall(text)))
    for item in container.at("env").items():
        value = item.at("value").node
        if isinstance(value, Scalar) and "$(" in value.text:
            found.update(set(_REFERENCE.findall(value.text[:_LONGEST])) - {item.text("name")})
    return frozenset(found)


def environment_of(
    container: Part,
    context: Context,
    injected: Mapping[str, Setting[str]],
    template: Part,
) -> Environment:
    """The environment of a container's first process. `template` is its pod template (for field references).

    What a controller adds itself (`injected`) stands behind the manifest's own variables and wins over them.
    """
    variables: dict[str, Setting[str]] = {}
    names: dict[str, Origin] = {}
    open_because = ""
    source_list = container.at("envFrom")
    if source_list.open_list:
        open_because = f"envFrom cannot be seen ({source_list.open_list})"
    for source in source_list.items():
        reason = _from_source(source, context, variables)
        open_because = open_because or reason
    env = container.at("env")
    if env.open_list:
        open_because = open_because or f"env cannot be seen whole ({env.open_list})"
    home = container.origin
    for item in env.items():
        name = item.string("name")
        if not isinstance(name, Set):
            open_because = open_because or "the name of a variable cannot be seen"
            continue
        so_far = Environment(home, variables, open_because)
        variables[name.value] = _value_of(item, so_far, context, template)
        node = item.at("name").node
        names[name.value] = name.origin if node is None else replace(name.origin, place=node.place)
    variables.update(injected)
    return Environment(home, variables, open_because, names)


def _value_of(item: Part, so_far: Environment, context: Context, template: Part) -> Setting[str]:
    value = item.at("value")
    origin = replace(item.origin, node=item.node)
    if value.node is not None:
        if not isinstance(value.node, Scalar):
            return Unknown("its value is no text", origin)
        if value.node.text:
            pieces = expand(value.node.text, lambda name: _for_reference(so_far, name))
            return text_of(pieces, replace(value.scalar_origin, place=value.node.place))
        return Set("", value.scalar_origin)
    source = item.at("valueFrom")
    if not source.present:
        return Set("", origin)
    if source.unknown:
        return Unknown(source.unknown, origin)
    if source.at("configMapKeyRef").present:
        return _from_config_map_key(source.at("configMapKeyRef"), context, origin)
    if source.at("secretKeyRef").present:
        return Unknown("it comes from a Secret", origin)
    field = source.text("fieldRef", "fieldPath")
    if field is not None:
        return _from_field(field, template, origin)
    return Unknown("it is filled in when the pod starts", origin)


_FIELD_KEY = lazy_re.compile(r"metadata\.(annotations|labels)\['([^']+)'\]\Z")


def _from_field(path: str, template: Part, origin: Origin) -> Setting[str]:
    match = _FIELD_KEY.match(path)
    if match:
        found = template.string("metadata", match.group(1), match.group(2))
        if isinstance(found, Set):
            return Set(found.value, replace(found.origin, chain=(*found.origin.chain, Link(origin.place, "fieldRef"))))
    return Unknown(f"it is the pod's {path}", origin)


def _from_config_map_key(reference: Part, context: Context, origin: Origin) -> Setting[str]:
    name, key = reference.string("name"), reference.string("key")
    if not isinstance(name, Set) or not isinstance(key, Set):
        return Unknown("the ConfigMap that it comes from is not named plainly", origin)
    optional = reference.boolean("optional", default=False)
    data = context.config_map(name.value, reference.place)
    if isinstance(data, Unknown):
        return Unknown(data.reason, origin)
    found = data.entries.get(key.value)
    if found is None:
        if isinstance(optional, Set) and optional.value:
            return Absent(origin)
        return Unknown(f"ConfigMap {name.value} has no key {key.value}", origin)
    return _entry_value(found, Link(origin.place, f"configMapKeyRef {name.value}"))


def _entry_value(node: Scalar, link: Link) -> Setting[str]:
    origin = Origin(node.place, chain=(link,), node=node)
    reason = placeholder(node.text)
    return Unknown(reason, origin) if reason else Set(node.text, origin)


def _from_source(source: Part, context: Context, variables: dict[str, Setting[str]]) -> str:
    """Add the variables of one envFrom entry; gives the reason why there may be more."""
    if source.unknown:
        return f"envFrom cannot be seen ({source.unknown})"
    prefix = source.string("prefix", default="")
    for key, title in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        reference = source.at(key)
        if not reference.present:
            continue
        name = reference.string("name")
        if not isinstance(name, Set) or not isinstance(prefix, Set):
            return f"envFrom takes variables from a {title} that is not named plainly"
        link = Link(source.place, f"envFrom {title} {name.value}")
        if title == "Secret":
            keys = context.secret_keys(name.value, reference.place)
            if isinstance(keys, Unknown):
                return f"envFrom takes variables out of reach ({keys.reason})"
            for secret_key, origin in keys.items():
                variables[prefix.value + secret_key] = Unknown("it comes from a Secret", origin)
            continue
        data = context.config_map(name.value, reference.place)
        if isinstance(data, Unknown):
            return f"envFrom takes variables out of reach ({data.reason})"
        for entry_key, node in data.entries.items():
            variables[prefix.value + entry_key] = _entry_value(node, link)
    return ""
