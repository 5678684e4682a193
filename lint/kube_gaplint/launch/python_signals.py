"""What a Python program does when it is told to stop: whether its handler of a signal leads to a save.

A handler saves by itself, or it leaves a note (a global name, an attribute, an event) that the training loop asks for:
under `if stop:` stands a save, or the loop ends by it and a save comes behind. A handler that only prints and exits
saves nothing. Of everything else it is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.launch.python_order import FUNCTIONS, Order
from kube_gaplint.launch.python_values import text_of
from kube_gaplint.model.program_lines import CHECKPOINT_WORD, writes_checkpoint

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 4
"""Calls that are followed from a handler, and back from a save."""
_ROUNDS = 4
"""How often a note is handed on: `asked = stop.is_set()`, `def told(): return asked`."""
_LONGEST = 100
"""Characters of an expression by which a note is handed on; longer ones work something else out."""
_NOTES = frozenset({"set", "append", "add", "put", "put_nowait", "fill_", "send", "write"})
"""Methods by which a handler leaves a note in what they belong to."""
_SAVES_NOTHING = lazy_re.compile(
    r"(?:\A|\.)(?:print|_?exit|quit|abort|kill|killpg|getpid|getpgid|getpgrp|getppid|interrupt_main|sleep|flush|"
    r"debug|info|warning|warn|error|critical|exception|log|log_\w*|Signals|signal|str|int|format|repr|time|now|"
    r"strftime|destroy_process_group|is_initialized|is_available|get_rank|get_world_size|finish|SystemExit|"
    r"KeyboardInterrupt|getLogger|print_exc|print_stack|dump_traceback)\Z"
)
"""Calls that write no checkpoint."""
_CATCHES = lazy_re.compile(r"\bSystemExit\b|\bKeyboardInterrupt\b|\bBaseException\b|\Aexcept\s*:")
_TESTS = frozenset({"if_statement", "elif_clause"})
_SCOPES = FUNCTIONS | {"class_definition"}


class StopFacts(Struct, frozen=True):
    """What follows from a program's handlers of one kind of signal."""

    saves: bool | None = None
    """Whether it saves when the signal comes; None where that is not seen."""
    saves_only_then: bool = False
    """All that it saves waits for the signal, or for the end of the training."""


def stop_facts(handlers: list[Node], calls: Iterable[Node], functions: list[Node], order: Order) -> StopFacts:
    """What a program does that gives these handlers (the second arguments of `signal.signal`) to signals."""
    return _Program(list(calls), functions, order).facts(handlers)


class _Program:
    def __init__(self, calls: list[Node], functions: list[Node], order: Order) -> None:
        self.calls = calls
        self.order = order
        self.saves = [call for call in calls if _saves(call)]
        self.functions: dict[str, list[Node]] = {}
        for function in functions:
            self.functions.setdefault(text_of(function.child_by_field_name("name")), []).append(function)

    def facts(self, handlers: list[Node]) -> StopFacts:
        reached = [self._reach(handler) for handler in handlers]
        found = [self._of(handler, bodies) for handler, bodies in zip(handlers, reached, strict=True)]
        saves = True if True in found else None if None in found else False
        if not saves or not self.saves:
            return StopFacts(saves)
        every = [body for bodies in reached for body in bodies]
        notes = self._left(every)
        written = self.saves + [call for call in self.calls if _dumps(call)]
        return StopFacts(saves, all(self._waits(one, every, notes) for one in written))

    def _of(self, handler: Node, bodies: list[Node]) -> bool | None:
        """Whether a save follows from a handler, which reaches these bodies."""
        if not bodies:
            return True if _speaks_of_saving(handler) else None
        within = [call for body in bodies for call in self.calls if _is_in(call, body)]
        if any(map(_saves, within)):
            return True
        notes = self._left(bodies)
        if notes:
            return True if self._saves_by(notes) else None
        seen = (text_of(call.child_by_field_name("function")) for call in within)
        if not all(_SAVES_NOTHING.search(name) or name.rpartition(".")[2] in self.functions for name in seen):
            return None
        return self._saves_on_its_way_out(bodies)

    def _reach(self, handler: Node) -> list[Node]:
        """A handler's body and those of the program's own functions that it calls; empty where it is not seen."""
        handler = _partly_called(handler)
        pending = [(handler, 0)] if handler.type == "lambda" else [(one, 0) for one in self._named(handler)]
        found: list[Node] = []
        while pending:
            body, depth = pending.pop()
            if body in found:
                continue
            found.append(body)
            if depth < _DEEPEST:
                called = (call.child_by_field_name("function") for call in self.calls if _is_in(call, body))
                pending += [(one, depth + 1) for function in called for one in self._named(function)]
        return found

    def _named(self, name: Node | None) -> list[Node]:
        """The function of this name; none where several have it."""
        if name is None or name.type not in {"identifier", "attribute"}:
            return []
        found = self.functions.get(text_of(name).rpartition(".")[2], [])
        return found if len(found) == 1 else []

    def _left(self, bodies: list[Node]) -> set[str]:
        """The notes that bodies leave, with the names that get their value from them, and the functions that give them
        back."""
        known = {note for body in bodies for note in _notes(body)}
        for _ in range(_ROUNDS if known else 0):
            before = len(known)
            for asked, given in self.handed_on:
                if not known.isdisjoint(asked):
                    known |= given
            known.discard("")
            if len(known) == before:
                break
        return known

    @cached_property
    def handed_on(self) -> list[tuple[set[str], set[str]]]:
        """For each assignment and `return` that may hand on a note: the names in it, and those that get its value."""
        found = []
        for node in _of_types(_root(self.calls[0]), {"assignment", "return_statement"}):
            assigns = node.type == "assignment"
            value = node.child_by_field_name("right") if assigns else node
            if value is None or len(text_of(value)) > _LONGEST:
                continue
            if assigns:
                given = _names_of(node.child_by_field_name("left"))
            else:
                function = _around(node)
                given = {text_of(function.child_by_field_name("name"))} if function is not None else set()
            found.append((set(_identifiers(value)), given))
        return found

    @cached_property
    def tests(self) -> list[tuple[Node, set[str]]]:
        """The statements with a condition, and the names in it."""
        nodes = _of_types(_root(self.calls[0]), {"if_statement", "elif_clause", "while_statement"})
        asked = ((node, node.child_by_field_name("condition")) for node in nodes)
        return [(node, set(_identifiers(condition))) for node, condition in asked if condition is not None]

    def _saves_by(self, notes: set[str]) -> bool:
        """Whether a save stands under a condition that asks for a note, or behind a loop that ends by one."""
        for save in self.saves:
            if any(_asks(condition, notes) for condition in _conditions(save)):
                return True
        asking = (test for test, asked in self.tests if not notes.isdisjoint(asked))
        ended = [loop for loop in map(_left_by, asking) if loop is not None]
        return any(
            save.start_byte >= loop.end_byte and _around(save) == _around(loop) for loop in ended for save in self.saves
        )

    def _saves_on_its_way_out(self, bodies: list[Node]) -> bool | None:
        """Whether a save follows from the exception by which a handler ends the program."""
        if any("atexit" in text_of(call.child_by_field_name("function")) for call in self.calls):
            return None
        raised = {
            word
            for body in bodies
            for node in _of_types(body, {"raise_statement"})
            for word in text_of(node).removeprefix("raise").split("(")[:1]
        }
        for save in self.saves:
            clause = save.parent
            while clause is not None and clause.type not in _SCOPES:
                if clause.type == "finally_clause":
                    return True
                head = text_of(clause).split("\n", 1)[0] if clause.type == "except_clause" else ""
                if head and (_CATCHES.search(head) or any(word.strip() and word.strip() in head for word in raised)):
                    return True
                clause = clause.parent
        return False

    def _waits(self, save: Node, bodies: list[Node], notes: set[str], depth: int = 0) -> bool:
        """Whether a save comes only after a signal, or when the training is over."""
        if any(_is_in(save, body) for body in bodies):
            return True
        if any(_asks(condition, notes) and not _or(condition) for condition in _conditions(save)):
            return True
        if self.order.only_after_training(save):
            return True
        function = _around(save)
        if function is None or depth > _DEEPEST:
            return False
        callers = self.order.callers(function)
        return bool(callers) and all(self._waits(caller, bodies, notes, depth + 1) for caller in callers or ())


def _saves(call: Node) -> bool:
    return writes_checkpoint(text_of(call.child_by_field_name("function")))


def _dumps(call: Node) -> bool:
    """`pickle.dump` and its like, which may write a state as well as a table of results."""
    return text_of(call.child_by_field_name("function")).rpartition(".")[2] == "dump"


def _speaks_of_saving(handler: Node) -> bool:
    """Whether a handler that is not seen says by its name that it saves."""
    handler = _partly_called(handler)
    named = handler.child_by_field_name("function") if handler.type == "call" else handler
    return CHECKPOINT_WORD.search(text_of(named).rpartition(".")[2]) is not None


def _partly_called(handler: Node) -> Node:
    """`save` of `partial(save, model)`."""
    function, given = handler.child_by_field_name("function"), handler.child_by_field_name("arguments")
    if function is None or given is None or text_of(function).rpartition(".")[2] != "partial":
        return handler
    return given.named_children[0] if given.named_children else handler


def _notes(body: Node) -> Iterator[str]:
    """What a handler leaves for others: names outside of it, attributes, items, what it calls `set` of."""
    outer = {
        text_of(name)
        for node in _of_types(body, {"global_statement", "nonlocal_statement"})
        for name in node.named_children
    }
    for node in _of_types(body, {"assignment", "augmented_assignment", "call"}):
        if node.type == "call":
            function = node.child_by_field_name("function")
            if function is not None and function.type == "attribute":
                method, holder = function.child_by_field_name("attribute"), function.child_by_field_name("object")
                if text_of(method) in _NOTES and not text_of(holder).startswith(("sys.", "os.")):
                    yield from _names_of(holder)
            continue
        target = node.child_by_field_name("left")
        if target is not None and (target.type != "identifier" or text_of(target) in outer):
            yield from _names_of(target)


def _names_of(target: Node | None) -> set[str]:
    """The names by which what is assigned to is asked for: `stop` of `self.stop`, `state` of `state["stop"]`."""
    if target is None:
        return set()
    if target.type == "identifier":
        return {text_of(target)}
    if target.type == "attribute":
        name = text_of(target.child_by_field_name("attribute"))
        return _names_of(target.child_by_field_name("object")) if name == "value" else {name}
    if target.type == "subscript":
        return _names_of(target.child_by_field_name("value"))
    return set()


def _identifiers(node: Node) -> Iterator[str]:
    return map(text_of, _of_types(node, {"identifier"}))


def _mentions(node: Node, names: set[str]) -> bool:
    return any(name in names for name in _identifiers(node))


def _asks(condition: Node, notes: set[str]) -> bool:
    """Whether a condition holds when a note is left: it speaks of one, and denies none."""
    denied = any(_mentions(one, notes) for one in _of_types(condition, {"not_operator"}))
    return not denied and _mentions(condition, notes)


def _or(condition: Node) -> bool:
    joined = _of_types(condition, {"boolean_operator"})
    return any(text_of(one.child_by_field_name("operator")) == "or" for one in joined)


def _conditions(call: Node) -> Iterator[Node]:
    """The conditions that hold where a call stands, up to its function."""
    below, node = call, call.parent
    while node is not None and node.type not in FUNCTIONS:
        condition = node.child_by_field_name("condition") if node.type in _TESTS else None
        if condition is not None and node.child_by_field_name("consequence") == below:
            yield condition
        below, node = node, node.parent


def _left_by(test: Node) -> Node | None:
    """The loop that a test ends: `while not stop`, or the outermost one around `if stop: break`."""
    if test.type == "while_statement":
        return test
    body = test.child_by_field_name("consequence")
    if body is None or not any(True for _ in _of_types(body, {"break_statement"})):
        return None
    loop, node = None, test.parent
    while node is not None and node.type not in FUNCTIONS:
        if node.type in {"for_statement", "while_statement"}:
            loop = node
        node = node.parent
    return loop


def _around(node: Node) -> Node | None:
    """The function around a node."""
    at = node.parent
    while at is not None and at.type not in FUNCTIONS:
        at = at.parent
    return at


def _root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


def _is_in(node: Node, body: Node) -> bool:
    return body.start_byte <= node.start_byte and node.end_byte <= body.end_byte


def _of_types(root: Node, types: set[str]) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type in types:
            yield node
        pending.extend(reversed(node.named_children))
