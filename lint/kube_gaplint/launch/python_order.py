"""When a call of a Python program runs: again and again while it trains, or once when the training is over."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node

_LOOPS = frozenset({"for_statement", "while_statement", "for_in_clause"})
_FUNCTIONS = frozenset({"function_definition", "lambda"})
_ENTRIES = frozenset({"main"})
_MOST_CALLERS = 50
_DEEPEST = 5


class Order(Struct):
    """The calls of a program by the last part of their names, and how often each name occurs at all."""

    calls: dict[str, list[Node]] = field(default_factory=dict)
    names: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def of(calls: Iterable[Node], names: Counter[str]) -> Order:
        found = Order(names=names)
        for call in calls:
            function = call.child_by_field_name("function")
            if function is not None:
                found.calls.setdefault(_text(function).rsplit(".", 1)[-1], []).append(call)
        return found

    def only_after_training(self, call: Node, depth: int = 0) -> bool:
        """Whether a call surely runs in no loop, and behind one: the loop in which the program trains.

        A function is followed to the places that call it. One that is handed on, or that nobody calls, may run at any
        time.
        """
        if depth > _DEEPEST:
            return False
        here, holder = call, call.parent
        while holder is not None and holder.type not in _FUNCTIONS:
            if holder.type in _LOOPS:
                return False
            here, holder = holder, holder.parent
        scope = here if holder is None else holder
        if _has_loop_before(scope, call):
            behind = True
        elif holder is None:
            return False
        else:
            behind = False
        if holder is None:
            return behind
        name = _text(holder.child_by_field_name("name"))
        callers = self.calls.get(name, [])
        if not name or len(callers) > _MOST_CALLERS or self.names[name] != len(callers) + 1:
            return False
        if not callers:
            return behind and name in _ENTRIES
        if behind:
            return not any(self._repeats(caller, depth + 1) for caller in callers)
        return all(self.only_after_training(caller, depth + 1) for caller in callers)

    def _repeats(self, call: Node, depth: int) -> bool:
        """Whether a call may run more than once."""
        holder = call.parent
        while holder is not None and holder.type not in _FUNCTIONS:
            if holder.type in _LOOPS:
                return True
            holder = holder.parent
        if holder is None:
            return False
        name = _text(holder.child_by_field_name("name"))
        callers = self.calls.get(name, [])
        if not name or depth > _DEEPEST or len(callers) > _MOST_CALLERS or self.names[name] != len(callers) + 1:
            return True
        return any(self._repeats(caller, depth + 1) for caller in callers)


def _text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def _has_loop_before(scope: Node, call: Node) -> bool:
    """Whether a loop of a function, or of the program itself, ends before a call. Loops of functions within are
    theirs."""
    pending = [scope]
    while pending:
        node = pending.pop()
        for child in node.children:
            if child.start_byte >= call.start_byte or child.type in _FUNCTIONS or child.type == "class_definition":
                continue
            if child.type in {"for_statement", "while_statement"} and child.end_byte <= call.start_byte:
                return True
            pending.append(child)
    return False
