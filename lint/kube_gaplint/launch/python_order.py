"""When a call of a Python program runs: again and again while it trains, or once when the training is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from kube_gaplint.launch.python_values import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

LOOPS = frozenset({"for_statement", "while_statement", "for_in_clause"})
FUNCTIONS = frozenset({"function_definition", "lambda"})
_ENTRIES = frozenset({"main"})
_MOST_CALLERS = 50
_DEEPEST = 5
_MOST_RESTORES = 5
"""Calls of one function that reads a state back; a program has one or two."""
_GIVEN = (" is not None", " != None")


class Order(Struct):
    """How the functions of a program are called. Keys are names, with whether they are attributes (`self.save`)."""

    calls: dict[tuple[str, bool], list[Node]] = field(default_factory=dict)
    handed_on: set[tuple[str, bool]] = field(default_factory=set)
    """What is named without being called there: it may be called from anywhere."""

    @staticmethod
    def of(root: Node) -> Order:
        found = Order()
        pending = [root]
        while pending:
            node = pending.pop()
            if node.type == "identifier":
                found._note(node)
            pending.extend(node.named_children)
        return found

    def _note(self, name: Node) -> None:
        parent = name.parent
        if parent is None or _is(name, parent, "keyword_argument", "name"):
            return
        attribute = _is(name, parent, "attribute", "attribute")
        target = parent if attribute else name
        key, holder = (text_of(name), attribute), target.parent
        if holder is not None and _is(target, holder, "call", "function"):
            self.calls.setdefault(key, []).append(holder)
        elif holder is None or not _is(target, holder, "function_definition", "name"):
            self.handed_on.add(key)

    def callers(self, function: Node) -> list[Node] | None:
        """The calls of a function; None where it may be called from elsewhere."""
        parent = function.parent
        while parent is not None and parent.type in {"block", "decorated_definition"}:
            parent = parent.parent
        key = text_of(function.child_by_field_name("name")), parent is not None and parent.type == "class_definition"
        callers = self.calls.get(key, [])
        return None if not key[0] or key in self.handed_on or len(callers) > _MOST_CALLERS else callers

    def only_caller(self, function: Node) -> Node | None:
        """The one call of a function; None where there are several, none, or where it is handed on."""
        callers = self.callers(function)
        return callers[0] if callers is not None and len(callers) == 1 else None

    def is_entry(self, function: Node) -> bool:
        """Whether it is the program's `main`, which something outside calls once."""
        return self.callers(function) == [] and text_of(function.child_by_field_name("name")) in _ENTRIES

    def tested_before(self, call: Node, depth: int = 0) -> frozenset[str]:
        """What is surely true where a call runs, by the last part of its name: `resume` under `if args.resume`."""
        names: frozenset[str] = frozenset()
        node = call
        while node.parent is not None and node.type not in FUNCTIONS:
            if _is(node, node.parent, "if_statement", "consequence"):
                names |= _asked(node.parent.child_by_field_name("condition"))
            node = node.parent
        callers = self.callers(node) if node.type in FUNCTIONS and depth < _DEEPEST else None
        if not callers or len(callers) > _MOST_RESTORES:
            return names
        return names | frozenset.intersection(*(self.tested_before(caller, depth + 1) for caller in callers))

    def only_after_training(self, call: Node, depth: int = 0, *, fits: bool = False) -> bool:
        """Whether a call surely runs in no loop, and behind one: the loop in which the program trains, or the call that
        does it all at once where the program `fits`.

        A function is followed to the places that call it. One that is handed on, or that nobody calls, may run at any
        time.
        """
        if depth > _DEEPEST:
            return False
        scope, repeated = _scope(call)
        if repeated or scope is None:
            return False
        behind = _has_loop_before(scope, call, fits=fits)
        if scope.type not in FUNCTIONS:
            return behind
        callers = self.callers(scope)
        if callers is None:
            return False
        if not callers:
            return behind and text_of(scope.child_by_field_name("name")) in _ENTRIES
        if behind:
            return not any(self._repeats(caller, depth + 1) for caller in callers)
        return all(self.only_after_training(caller, depth + 1, fits=fits) for caller in callers)

    def _repeats(self, call: Node, depth: int) -> bool:
        """Whether a call may run more than once."""
        scope, repeated = _scope(call)
        if repeated or scope is None or depth > _DEEPEST:
            return True
        if scope.type not in FUNCTIONS:
            return False
        callers = self.callers(scope)
        return callers is None or any(self._repeats(caller, depth + 1) for caller in callers)


def _asked(condition: Node | None) -> frozenset[str]:
    """The names that a condition asks to be true, or not to be None."""
    names = set()
    pending = [] if condition is None else [condition]
    while pending:
        node = pending.pop()
        parts = node.named_children
        if node.type == "parenthesized_expression":
            pending.extend(parts[:1])
        elif node.type == "boolean_operator" and text_of(node.child_by_field_name("operator")) == "and":
            pending.extend(parts)
        elif node.type == "comparison_operator" and len(parts) == 2 and text_of(node).endswith(_GIVEN):
            pending.append(parts[0])
        elif node.type in {"identifier", "attribute"}:
            names.add(text_of(node).rpartition(".")[2])
    return frozenset(names)


def _scope(call: Node) -> tuple[Node | None, bool]:
    """The function around a call, or the whole program, and whether a loop stands between."""
    node = call.parent
    while node is not None and node.type not in FUNCTIONS and node.parent is not None:
        if node.type in LOOPS:
            return node, True
        node = node.parent
    return node, False


def _is(node: Node, parent: Node, kind: str, field_name: str) -> bool:
    return parent.type == kind and parent.child_by_field_name(field_name) == node


def _fits(node: Node) -> bool:
    """Whether it is a call that trains from the first step to the last, and is given nothing that saves meanwhile."""
    if node.type != "call" or "callbacks" in text_of(node.child_by_field_name("arguments")):
        return False
    return text_of(node.child_by_field_name("function")).rpartition(".")[2] in {"fit", "train"}


def _has_loop_before(scope: Node, call: Node, *, fits: bool) -> bool:
    """Whether a loop of a function, or of the program itself, ends before a call, or a call that `fits`. Loops of
    functions within are theirs."""
    pending = [scope]
    while pending:
        node = pending.pop()
        for child in node.children:
            if child.start_byte >= call.start_byte or child.type in FUNCTIONS or child.type == "class_definition":
                continue
            if child.end_byte <= call.start_byte and (
                child.type in {"for_statement", "while_statement"} or (fits and _fits(child))
            ):
                return True
            pending.append(child)
    return False
