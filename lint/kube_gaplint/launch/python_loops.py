"""How long a program trains and how often it saves, as far as its loops say so.

A training step is a call of an optimizer's `step`. The loops around it, through functions that are called at one place,
give the number of steps where each of them is a `for … in range(…)` of known length. A save in the loop of the steps
behind `if step % 100 == 0` comes every 100 steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.launch.python_order import FUNCTIONS, LOOPS, Order
from kube_gaplint.launch.python_values import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

Fold = Callable[["Node"], object]
"""The value of an expression; None where it is not known."""

MAX_STEPS = 10**12
_DEEPEST = 8
_FOR = "for_statement"
_ONE_PROCESS = lazy_re.compile(r"(?i)rank|main|master|is_primary|process_index|\bstep\b\s*[<>]|_step\s*[<>]")
"""Conditions that choose the process that saves, or leave the first steps out."""
_EPOCH = lazy_re.compile(r"\A(?:\w{0,20}epochs?\w{0,20}|ep)\Z", re.IGNORECASE)


class LoopFacts(Struct, frozen=True):
    """`steps` of the whole run and steps between saves; None where the loops do not tell."""

    steps: tuple[int, Node] | None = None
    """With what the innermost loop goes through."""
    save_every: tuple[int, Node] | None = None
    """With the condition that says it."""
    save_epochs: tuple[int, Node] | None = None
    """Epochs between saves, where all that it saves while it trains waits for such a condition."""


class _Loops(Struct, frozen=True):
    """Loops around a call, the innermost first. `more`: others may stand around them, where its function is called."""

    known: tuple[Node, ...]
    more: bool = False


class _SaveLoop(Struct, frozen=True):
    """The loop around a save, None where it is in none; the conditions on the way to it; whether all of that was
    seen."""

    loop: Node | None
    conditions: list[Node | None]
    seen: bool = True


def is_step(function: Node, arguments: list[Node]) -> bool:
    """Whether a call makes a step of an optimizer: `optimizer.step()`, `scaler.step(optimizer)`."""
    if function.type != "attribute" or text_of(function.child_by_field_name("attribute")) != "step":
        return False
    return any("optim" in text_of(one).lower() for one in (function.child_by_field_name("object"), *arguments[:1]))


def loop_facts(steps: list[Node], saves: list[Node], order: Order, fold: Fold) -> LoopFacts:
    """What the loops around the calls of `step`, and around those that save, tell."""
    chains = [_loops_around(call, order) for call in steps]
    around = [_loop_of(save, order) for save in saves]
    return LoopFacts(_total(chains, fold), _interval(around, chains, fold), _epochs(around, fold))


def _total(chains: list[_Loops], fold: Fold) -> tuple[int, Node] | None:
    counted: dict[int, tuple[int, Node]] = {}
    for chain in chains:
        if chain.more or not chain.known:
            return None
        product = 1
        for loop in chain.known:
            length = _length(loop, fold)
            if length is None:
                return None
            product *= length
        head = chain.known[0]
        counted[head.start_byte] = product, head.child_by_field_name("right") or head
    total = sum(product for product, _ in counted.values())
    return (total, next(iter(counted.values()))[1]) if 0 < total <= MAX_STEPS else None


def _interval(around: list[_SaveLoop], chains: list[_Loops], fold: Fold) -> tuple[int, Node] | None:
    loops = {chain.known[0].start_byte for chain in chains if chain.known}
    in_them = (save for save in around if save.loop is not None and save.loop.start_byte in loops)
    found = [every for save in in_them if (every := _every(save.conditions, fold)) is not None]
    return min(found, key=lambda one: one[0]) if found else None


def _epochs(around: list[_SaveLoop], fold: Fold) -> tuple[int, Node] | None:
    """The number of `if (epoch + 1) % 10 == 0` in a loop over epochs; None where another save is seen to come sooner,
    or when one comes is not seen."""
    found: list[tuple[int, Node]] = []
    for save in around:
        if not save.seen:
            return None
        if save.loop is None:
            continue  # before the training or behind it
        every = _every(save.conditions, fold)
        name = text_of(save.loop.child_by_field_name("left")) if save.loop.type == _FOR else ""
        if every is None or not _EPOCH.search(name) or name not in text_of(every[1]):
            return None
        found.append(every)
    return min(found, key=lambda one: one[0]) if found else None


def _loop_of(save: Node, order: Order) -> _SaveLoop:
    """The loop around a save, through functions that are called at one place."""
    conditions: list[Node | None] = []
    call: Node | None = save
    for _ in range(_DEEPEST):
        if call is None:
            break
        loop, more, scope = _up(call)
        conditions += more
        if loop is not None or scope is None or order.is_entry(scope):
            return _SaveLoop(loop, conditions)
        call = order.only_caller(scope)
    return _SaveLoop(None, conditions, seen=False)


def _every(conditions: list[Node | None], fold: Fold) -> tuple[int, Node] | None:
    """The number of a condition `step % 100 == 0`, where the others only choose a process."""
    found: tuple[int, Node] | None = None
    for condition in conditions:
        for part in _parts(condition):
            if part is None:
                return None
            number = _modulus(part, fold)
            if number is not None:
                found = number, part
            elif not _ONE_PROCESS.search(text_of(part)):
                return None
    return found


def _parts(condition: Node | None) -> Iterator[Node | None]:
    """The parts of `a and b`; None for what is no condition that has to hold."""
    pending = [condition]
    while pending:
        node = pending.pop()
        if node is not None and node.type == "parenthesized_expression" and node.named_child_count == 1:
            pending.append(node.named_children[0])
        elif node is not None and node.type == "boolean_operator" and _operator(node) == "and":
            pending += [node.child_by_field_name("left"), node.child_by_field_name("right")]
        else:
            yield node


def _modulus(node: Node, fold: Fold) -> int | None:
    """100 of `(step + 1) % 100 == 0`."""
    if node.type != "comparison_operator" or node.named_child_count != 2 or "==" not in text_of(node):
        return None
    left, right = node.named_children
    if fold(right) != 0 or left.type != "binary_operator" or _operator(left) != "%":
        return None
    divisor = left.child_by_field_name("right")
    number = None if divisor is None else fold(divisor)
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else None


def _length(loop: Node, fold: Fold) -> int | None:
    """How often a loop runs at most: by what it goes through, or by what breaks it off."""
    if loop.type != _FOR:
        return None
    lengths = (_range(loop, fold), _broken_off(loop, fold))
    return min((length for length in lengths if length is not None), default=None)


def _broken_off(loop: Node, fold: Fold) -> int | None:
    """The turns after which `if i == 9: break` leaves `for i, batch in enumerate(loader)` whatever else happens."""
    left, right, body = (loop.child_by_field_name(name) for name in ("left", "right", "body"))
    counts = text_of(right).startswith(("enumerate(", "tqdm(enumerate("))
    if left is None or body is None or not counts or left.type not in {"pattern_list", "tuple_pattern"}:
        return None
    counter = text_of(left.named_children[0])
    turns = [
        last
        for statement in body.named_children
        if statement.type == "if_statement" and (last := _last_turn(statement, counter, fold)) is not None
    ]
    return min(turns, default=None)


def _last_turn(statement: Node, counter: str, fold: Fold) -> int | None:
    """The turns that `if i >= 10: break` lets pass, itself included."""
    condition, then = (statement.child_by_field_name(name) for name in ("condition", "consequence"))
    if condition is None or condition.type != "comparison_operator" or condition.named_child_count != 2:
        return None
    if then is None or not any(child.type == "break_statement" for child in then.named_children):
        return None
    name, number = condition.named_children
    first = _FIRST_TURN.get(text_of(condition)[len(text_of(name)) : -len(text_of(number))].strip())
    last = fold(number)
    if text_of(name) != counter or first is None or type(last) is not int:
        return None
    return int(str(last)) + first


_FIRST_TURN = {"==": 1, ">=": 1, ">": 2}
"""The turns of a counter from 0 that `i == 0` lets pass before it holds, that turn included."""


def _range(loop: Node, fold: Fold) -> int | None:
    """How often `for … in range(…)` runs; also inside `tqdm(…)` and `enumerate(…)`."""
    node = loop.child_by_field_name("right")
    for _ in range(3):
        if node is None or node.type != "call":
            return None
        name = text_of(node.child_by_field_name("function")).rsplit(".", 1)[-1]
        arguments = node.child_by_field_name("arguments")
        given = [] if arguments is None else [one for one in arguments.named_children if one.type != "comment"]
        if name == "islice" and len(given) == 2:
            number = fold(given[1])
            return max(int(str(number)), 0) if type(number) is int else None
        if name == "range":
            numbers = [fold(one) for one in given]
            if not 1 <= len(numbers) <= 2 or not all(type(one) is int for one in numbers):
                return None
            length = int(str(numbers[-1])) - (int(str(numbers[0])) if len(numbers) == 2 else 0)
            return max(length, 0)
        if name not in {"tqdm", "trange", "enumerate"} or not given:
            return None
        node = given[0]
    return None


def _loops_around(call: Node, order: Order) -> _Loops:
    loops: list[Node] = []
    at: Node | None = call
    for _ in range(_DEEPEST):
        if at is None:
            break
        node = at.parent
        while node is not None and node.type not in FUNCTIONS and node.parent is not None:
            if node.type in LOOPS:
                loops.append(node)
            node = node.parent
        if node is None or node.type not in FUNCTIONS or order.is_entry(node):
            return _Loops(tuple(loops))
        at = order.only_caller(node)
    return _Loops(tuple(loops), more=True)


def _up(call: Node) -> tuple[Node | None, list[Node | None], Node | None]:
    """From a call up to the next loop or function: the loop, the conditions on the way (None for a branch that is taken
    where one does not hold), and the function."""
    conditions: list[Node | None] = []
    below, node = call, call.parent
    while node is not None and node.parent is not None:
        if node.type in LOOPS:
            return node, conditions, None
        if node.type in FUNCTIONS:
            return None, conditions, node
        if node.type == "if_statement":
            inside = node.child_by_field_name("consequence") == below
            conditions.append(node.child_by_field_name("condition") if inside else None)
        elif node.type in {"elif_clause", "else_clause", "except_clause", "match_statement", "conditional_expression"}:
            conditions.append(None)
        below, node = node, node.parent
    return None, conditions, None


def _operator(node: Node) -> str:
    return text_of(node.child_by_field_name("operator"))
