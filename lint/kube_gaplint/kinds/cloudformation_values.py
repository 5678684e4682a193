"""The values of a CloudFormation template, as far as the template itself tells them.

A parameter stands for its default, which a deployment may override; `Fn::Sub` for its text; `Fn::Base64` for what it
encodes; `Fn::If` for the side that the defaults choose; `AWS::NoValue` for nothing at all. What any other function
gives is not known: a placeholder stands there, so that nothing is concluded from it. Source: AWS CloudFormation user
guide, "Intrinsic function reference" and "Parameters" (dynamic references and SSM parameter types).
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.text.nodes import Entry, Item, Mapping, Node, Scalar, Sequence, mapping, scalar, text_at
from kube_gaplint.text.templates import placeholder

_NO_VALUE = "AWS::NoValue"
_VARIABLE = lazy_re.compile(r"\$\{([^!{}][^{}]*)\}")
_LISTS = ("CommaDelimitedList", "List<")
_DEEPEST = 60
_VERBATIM = frozenset({"Labels", "Tags"})
"""Below these keys stand names of the user's own."""


def is_template(root: Node | None) -> bool:
    """Whether a document is a CloudFormation template: its resources have types of AWS."""
    resources = mapping(root, "Resources")
    if resources is None:
        return False
    return any((text_at(entry.value, "Type") or "").startswith("AWS::") for entry in resources)


class Template(Struct, eq=False):
    """A template. Keys below `Properties` come with a small first letter, as Kubernetes and eksctl write them."""

    root: Mapping
    _filled: dict[tuple[int, bool], Node | None] = field(default_factory=dict)
    _kept: list[Node] = field(default_factory=list)
    """Nodes whose identity stands in `_filled`."""
    _depth: int = 0
    _conditions: dict[str, bool | None] = field(default_factory=dict)

    def resources(self, *types: str) -> dict[str, Entry]:
        """The resources of some types by their logical ids."""
        found = mapping(self.root, "Resources")
        if found is None:
            return {}
        return {entry.name: entry for entry in found if text_at(entry.value, "Type") in types}

    def properties(self, resource: Entry) -> Node | None:
        """What a resource is asked for, filled in; None where it says nothing."""
        found = mapping(resource.value)
        node = None if found is None else found.get("Properties")
        return None if node is None else self.filled(node, rename=True)

    def named(self, node: Node | None) -> str:
        """The logical id that a value means (`!Ref Nodes`, `!GetAtt Nodes.Arn`); empty where it is no reference."""
        if isinstance(node, Scalar) and node.tag in ("!Ref", "!GetAtt"):
            return node.text.partition(".")[0]
        if isinstance(node, Mapping) and len(node.entries) == 1 and node.entries[0].name in ("Ref", "Fn::GetAtt"):
            value = node.entries[0].value
            first = value.items[0].value if isinstance(value, Sequence) and value.items else value
            return first.text.partition(".")[0] if isinstance(first, Scalar) else ""
        return ""

    def filled(self, node: Node, *, rename: bool) -> Node | None:
        """A value with its functions answered; None for `AWS::NoValue`. With `rename` the keys are spelt small."""
        key = (id(node), rename)
        if key not in self._filled:
            self._kept.append(node)
            self._depth += 1
            self._filled[key] = self._answer(node, rename) if self._depth <= _DEEPEST else _hole(node, "…")
            self._depth -= 1
        return self._filled[key]

    def _answer(self, node: Node, rename: bool) -> Node | None:
        if isinstance(node, Scalar):
            return self._scalar(node)
        if isinstance(node, Sequence):
            return self._sequence(node, rename)
        assert isinstance(node, Mapping)
        if len(node.entries) == 1:
            name, value = node.entries[0].name, node.entries[0].value
            if name in ("Ref", "Fn::Ref"):
                return self._referred(value.text, node) if isinstance(value, Scalar) else _hole(node, name)
            if name == "Fn::Base64":
                return self.filled(value, rename=rename)
            if name == "Fn::Sub":
                return self._substituted(value, node)
            if name == "Fn::If":
                return self._chosen(value, node, rename)
            if name.startswith("Fn::"):
                return _hole(node, name)
        if node.tag is not None and node.tag.startswith("!"):
            return _hole(node, node.tag)
        out = Mapping(node.source, node.span, anchor=node.anchor)
        for entry in node:
            filled = self.filled(entry.value, rename=rename and entry.name not in _VERBATIM)
            if filled is not None:
                out.entries.append(Entry(_small(entry.key) if rename else entry.key, filled, entry.alias))
        return out

    def _sequence(self, node: Sequence, rename: bool) -> Node | None:
        if node.tag == "!Sub":
            return self._substituted(node, node)
        if node.tag == "!If":
            return self._chosen(node, node, rename)
        if node.tag is not None and node.tag.startswith("!"):
            return _hole(node, node.tag)
        out = Sequence(node.source, node.span, anchor=node.anchor)
        for item in node.items:
            filled = self.filled(item.value, rename=rename)
            if filled is not None:
                out.items.append(Item(filled, item.alias))
        return out

    def _scalar(self, node: Scalar) -> Node | None:
        tag = node.tag or ""
        if tag == "!Ref":
            return self._referred(node.text, node)
        if tag == "!Sub":
            return self._substituted(node, node)
        if tag == "!Base64":
            return _plain(node, node.text)
        return _hole(node, tag) if tag.startswith("!") else node

    def _referred(self, name: str, node: Node) -> Node | None:
        """What `Ref` gives: a parameter's default; of a resource or a pseudo parameter nobody knows."""
        if name == _NO_VALUE:
            return None
        parameter = mapping(self.root, "Parameters", name)
        default = scalar(parameter, "Default")
        if default is None:
            return _hole(node, name)
        kind = text_at(parameter, "Type") or ""
        if kind.startswith("AWS::SSM::Parameter::Value"):
            return _plain(node, f"{{{{resolve:ssm:{default.text}}}}}")
        if kind.startswith(_LISTS):
            items = [Item(_plain(node, text.strip())) for text in default.text.split(",") if text.strip()]
            return Sequence(node.source, node.span, items=items)
        return Scalar(node.source, node.span, default.text, default.value)

    def _chosen(self, value: Node, node: Node, rename: bool) -> Node | None:
        """What `Fn::If` gives; a placeholder where the condition is not known."""
        sides = list(value) if isinstance(value, Sequence) else []
        if len(sides) != 3 or not isinstance(sides[0], Scalar):
            return _hole(node, "Fn::If")
        holds = self._holds(sides[0].text)
        return _hole(node, "Fn::If") if holds is None else self.filled(sides[1 if holds else 2], rename=rename)

    def _holds(self, name: str) -> bool | None:
        """Whether a condition holds with the defaults of all parameters; None where that is not known."""
        if name not in self._conditions:
            conditions = mapping(self.root, "Conditions")
            node = None if conditions is None else conditions.get(name)
            self._conditions[name] = None  # for a condition that asks for itself
            if node is not None and self._depth < _DEEPEST:
                self._depth += 1
                self._conditions[name] = self._truth(node)
                self._depth -= 1
        return self._conditions[name]

    def _truth(self, node: Node, depth: int = 0) -> bool | None:
        function, values = _call(node)
        if depth > _DEEPEST:
            return None
        if function == "Condition" and values and isinstance(values[0], Scalar):
            return self._holds(values[0].text)
        if function == "Equals" and len(values) == 2:
            texts = [self._text(value) for value in values]
            return None if None in texts else texts[0] == texts[1]
        if function not in ("Not", "And", "Or"):
            return None
        truths = [self._truth(value, depth + 1) for value in values]
        if function == "Not":
            return None if len(truths) != 1 or truths[0] is None else not truths[0]
        decides = function == "Or"
        return decides if decides in truths else None if None in truths else not decides

    def _text(self, node: Node) -> str | None:
        """A value as a text; None where it is not known."""
        filled = self.filled(node, rename=False)
        return filled.text if isinstance(filled, Scalar) and not placeholder(filled.text) else None

    def _substituted(self, value: Node, node: Node) -> Node:
        """What `Fn::Sub` gives. A text of several lines stays as it is written: its `${…}` are unknown to a shell."""
        own: set[str] = set()
        if isinstance(value, Sequence) and value.items:
            if len(value.items) > 1 and isinstance(value.items[1].value, Mapping):
                own = {entry.name for entry in value.items[1].value}
            value = value.items[0].value
        if not isinstance(value, Scalar):
            return _hole(node, "Fn::Sub")
        if "\n" in value.text:
            return _plain(value, value.text)

        def known(match: re.Match[str]) -> str:
            default = None if match[1] in own else scalar(self.root, "Parameters", match[1], "Default")
            return match[0] if default is None else default.text

        return _plain(value, _VARIABLE.sub(known, value.text))


def _call(node: Node) -> tuple[str, list[Node]]:
    """The function that a condition calls, without `Fn::`, and its arguments; an empty name where it calls none."""
    if isinstance(node, Mapping) and node.tag is None and len(node.entries) == 1:
        name, value = node.entries[0].name.removeprefix("Fn::"), node.entries[0].value
        return name, list(value) if isinstance(value, Sequence) else [value]
    if node.tag is None or not node.tag.startswith("!"):
        return "", []
    return node.tag[1:], list(node) if isinstance(node, Sequence) else [node]


def _plain(node: Node, text: str) -> Scalar:
    """A text in the place of a node, without its tag."""
    style = node.style if isinstance(node, Scalar) else "plain"
    return Scalar(node.source, node.span, text, text, style)


def _hole(node: Node, name: str) -> Scalar:
    return _plain(node, f"${{{name.removeprefix('!')}}}")


def _small(key: Node) -> Node:
    if not isinstance(key, Scalar) or not key.text:
        return key
    text = key.text[0].lower() + key.text[1:]
    return Scalar(key.source, key.span, text, text, key.style)
