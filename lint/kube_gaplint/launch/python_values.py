"""Values of Python expressions that can be known without running anything."""

from __future__ import annotations

import operator
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options
from kube_gaplint.text.source import Place, PlacedText

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 24
MAX_PARTS = 12
MAX_STRING = 4_000
MAX_NUMBER = 1e18


class Duration(Struct, frozen=True):
    """A `timedelta`."""

    seconds: float


Value: TypeAlias = "str | int | float | bool | Duration | tuple[Value, ...] | None"


class NotKnown(Exception):
    """Raised while folding; the message says why the value is not known."""


class DeclaredOption(Protocol):
    """What folding needs of an option that the program declares."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def default(self) -> Setting[Value]: ...
    @property
    def kind(self) -> str: ...


class Offsets:
    """A text as bytes, and the way back from byte to character offsets."""

    def __init__(self, text: str) -> None:
        self.data = text.encode("utf-8", "replace")
        self._text = text
        self._ascii = len(self.data) == len(text)

    @cached_property
    def _wide(self) -> tuple[list[int], list[int], list[int]]:
        """The characters that are no ASCII: where each begins and ends in bytes, and which character it is."""
        starts, ends, characters = [], [], []
        before = 0  # bytes that those before it have more than one each
        for found in _NO_ASCII.finditer(self._text):
            size = len(found[0].encode("utf-8", "replace"))
            start = found.start() + before
            starts.append(start)
            ends.append(start + size)
            characters.append(found.start())
            before += size - 1
        return starts, ends, characters

    def character(self, byte: int) -> int:
        if self._ascii:
            return byte
        starts, ends, characters = self._wide
        last = bisect_right(starts, byte) - 1
        if last < 0:
            return byte
        return characters[last] if byte < ends[last] else characters[last] + 1 + byte - ends[last]


_NO_ASCII = lazy_re.compile(r"[^\x00-\x7f]")


def text_of(node: Node | None) -> str:
    """The source text of a node; empty for none."""
    raw = node.text if node is not None else None
    return raw.decode("utf-8", "replace") if raw is not None else ""


def dotted(node: Node | None) -> str:
    """`a.b.c` for attributes of a name; `.c` for those of something else; empty where it is neither."""
    parts: list[str] = []
    while node is not None and node.type == "attribute" and len(parts) < MAX_PARTS:
        parts.append(text_of(node.child_by_field_name("attribute")))
        node = node.child_by_field_name("object")
    if node is None:
        return ""
    if node.type == "identifier":
        parts.append(text_of(node))
    elif parts:
        parts.append("")
    return ".".join(reversed(parts))


def parses_arguments(node: Node) -> bool:
    """Whether an expression is `….parse_args(…)` or one of its kin."""
    function = node.child_by_field_name("function") if node.type == "call" else None
    return dotted(function).rsplit(".", 1)[-1] in {"parse_args", "parse_known_args", "parse_args_into_dataclasses"}


def assigns(node: Node) -> bool:
    """Whether an access to `os.environ` only sets or removes: the left of an assignment, `del`, a bare `setdefault`."""
    parent = node.parent
    if parent is None:
        return False
    if node.type == "call":
        return parent.type == "expression_statement"
    return parent.type == "delete_statement" or (
        parent.type == "assignment" and parent.child_by_field_name("left") == node
    )


def helper_argument(node: Node) -> Node | None:
    """The first argument of a function that gets something from the environment by its name; else None."""
    if node.type != "call":
        return None
    name = dotted(node.child_by_field_name("function")).rpartition(".")[2].lower()
    if "env" not in name or name.startswith(("set", "put", "unset", "del", "pop")):
        return None
    arguments = node.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    return given[0] if given and given[0].type == "string" else None


_OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_TIMEDELTA = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")
_TIMEDELTA_SECONDS = (86_400.0, 1.0, 1e-6, 1e-3, 60.0, 3_600.0, 604_800.0)
_ESCAPE = lazy_re.compile(r"\\(\n|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[0-7]{1,3}|.)", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "\n": ""}
_ARGUMENT_HOLDERS = frozenset({"args", "opt", "opts", "options", "hparams", "flags", "parsed", "cli_args", "arguments"})


def _nowhere(_destination: str) -> None:
    return None


class Folder:
    """Folds expressions of one program. Bindings are noted first; see `bind`."""

    def __init__(self, text: PlacedText, options: Options | None, environment: Environment | None) -> None:
        self.placed = text
        self.offsets = Offsets(text.text)
        self.given = options
        self.environment = environment
        self.aliases: dict[str, str] = {}
        self.options: dict[str, DeclaredOption] = {}
        self.declared_elsewhere: Callable[[str], DeclaredOption | None] = _nowhere
        """An option by its destination, as a module declares it that the program imports."""
        self.reads: set[str] = set()
        self._bindings: dict[str, list[Node | None]] = {}

    def place(self, node: Node, last: Node | None = None) -> Place:
        """Where a node (to the end of `last`) stands in its source."""
        start = self.offsets.character(node.start_byte)
        end = self.offsets.character((last or node).end_byte)
        return self.placed.place(start, max(start, end))

    def short(self, node: Node) -> str:
        """The text of a node on one line, cut."""
        start, end = node.start_byte, node.end_byte
        raw = self.offsets.data[start : min(end, start + 240)]
        text = " ".join(raw.decode("utf-8", "ignore").split())
        return text if len(text) <= 60 else f"{text[:59]}…"

    def bind(self, name: str, value: Node | None) -> None:
        """Note an assignment to a name; None for one whose value is not followed."""
        found = self._bindings.setdefault(name, [])
        if len(found) < 3:
            found.append(value)

    def resolve(self, node: Node | None) -> str:
        """A dotted name with its first part as the imports say: `dist.barrier` gives `torch.distributed.barrier`."""
        name = dotted(node)
        first, dot, rest = name.partition(".")
        return f"{self.aliases.get(first, first)}{dot}{rest}"

    def setting(self, node: Node) -> Setting[Value]:
        """The value of an expression as a setting that points at it."""
        origin = Origin(self.place(node))
        try:
            return Set(self._fold(node, 0), origin)
        except NotKnown as reason:
            return Unknown(str(reason), origin)

    def fold(self, node: Node) -> Value:
        """The value of an expression; None as well where it is not known."""
        try:
            return self._fold(node, 0)
        except NotKnown:
            return None

    def prefix(self, node: Node) -> str:
        """The known beginning of a text."""
        return self._prefix(node, 0)[0]

    def note_read(self, node: Node) -> None:
        """Note the environment variable that an expression reads, if it does: `os.environ["X"]`, `os.getenv("X")`.

        One that it only gives a value (`os.environ["X"] = "1"`, `os.environ.setdefault("X", "1")`) is none. A helper
        that is called for the environment (`env_int("X", 5)`) reads it as well.
        """
        read = self._environment_read(node)
        named = read[0] if read is not None and not assigns(node) else helper_argument(node)
        name = self.fold(named) if named is not None else None
        if isinstance(name, str):
            self.reads.add(name)

    # folding

    def _fold(self, node: Node, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise NotKnown("the expression is nested too deep")
        kind = node.type
        depth += 1
        if kind in {"integer", "float"}:
            return _number(text_of(node))
        if kind in {"true", "false"}:
            return kind == "true"
        if kind == "none":
            return None
        if kind == "string":
            return self._string(node, depth)
        if kind == "concatenated_string":
            return "".join(str(self._fold(part, depth)) for part in node.named_children[:200])
        if kind == "parenthesized_expression" and node.named_child_count == 1:
            return self._fold(node.named_children[0], depth)
        if kind in {"tuple", "list"} and node.named_child_count <= 64:
            return tuple(self._fold(child, depth) for child in node.named_children)
        if kind == "unary_operator":
            return self._unary(node, depth)
        if kind == "binary_operator":
            return self._binary(node, depth)
        if kind == "boolean_operator" and text_of(node.child_by_field_name("operator")) == "or":
            left = self._fold(_field(node, "left"), depth)
            return left or self._fold(_field(node, "right"), depth)
        if kind == "identifier":
            return self._name(node, depth)
        if kind == "call":
            return self._call(node, depth)
        if kind in {"attribute", "subscript"}:
            return self._access(node, depth)
        raise NotKnown(f"“{self.short(node)}” is no constant")

    def _string(self, node: Node, depth: int) -> str:
        prefix = text_of(node.children[0]).rstrip("\"'").lower() if node.children else ""
        if "b" in prefix:
            raise NotKnown("it is a byte string")
        parts: list[str] = []
        for child in node.children[1:]:
            if child.type == "string_content":
                text = text_of(child)
                if "f" in prefix:
                    text = text.replace("{{", "{").replace("}}", "}")
                parts.append(text if "r" in prefix else _ESCAPE.sub(_unescape, text))
            elif child.type == "interpolation":
                if child.named_child_count != 1:
                    raise NotKnown(f"“{self.short(child)}” is formatted")
                parts.append(_shown(self._fold(child.named_children[0], depth)))
        return _bounded("".join(parts))

    def _unary(self, node: Node, depth: int) -> Value:
        value = self._fold(_field(node, "argument"), depth)
        if isinstance(value, int | float) and not isinstance(value, bool):
            sign = text_of(node.child_by_field_name("operator"))
            if sign in {"-", "+"}:
                return -value if sign == "-" else value
        raise NotKnown(f"“{self.short(node)}” is no constant")

    def _binary(self, node: Node, depth: int) -> Value:
        sign = text_of(node.child_by_field_name("operator"))
        left, right = self._fold(_field(node, "left"), depth), self._fold(_field(node, "right"), depth)
        if isinstance(left, str) and isinstance(right, str):
            if sign == "+":
                return _bounded(left + right)
            if sign == "/":  # pathlib
                return _bounded(right if right.startswith("/") else f"{left.rstrip('/')}/{right}")
        if isinstance(left, Duration) or isinstance(right, Duration):
            return _of_durations(left, sign, right)
        if _is_number(left) and _is_number(right):
            assert isinstance(left, int | float)
            assert isinstance(right, int | float)
            return _arithmetic(left, sign, right)
        raise NotKnown(f"“{self.short(node)}” is no constant")

    def _name(self, node: Node, depth: int) -> Value:
        name = text_of(node)
        found = self._bindings.get(name, [])
        if len(found) == 1 and found[0] is not None:
            return self._fold(found[0], depth)
        if name in self.aliases or not found:
            raise NotKnown(f"“{name}” is not defined here")
        raise NotKnown(f"“{name}” may have several values" if len(found) > 1 else f"“{name}” is not a constant")

    def _access(self, node: Node, depth: int) -> Value:
        read = self._environment_read(node)
        if read is not None:
            return self._variable(read, depth)
        if node.type == "attribute":
            holder = node.child_by_field_name("object")
            if holder is not None and holder.type == "identifier" and self._holds_arguments(text_of(holder)):
                return self._option(text_of(node.child_by_field_name("attribute")))
        raise NotKnown(f"“{self.short(node)}” is not followed")

    def _call(self, node: Node, depth: int) -> Value:
        read = self._environment_read(node)
        if read is not None:
            return self._variable(read, depth)
        name = self.resolve(node.child_by_field_name("function"))
        arguments = node.child_by_field_name("arguments")
        given = arguments.named_children if arguments is not None and arguments.type == "argument_list" else []
        if name.rsplit(".", 1)[-1] == "timedelta":
            return self._timedelta(given, depth)
        if len(given) == 1 and name in {"int", "float", "str"}:
            return _cast(name, self._fold(given[0], depth))
        last = name.rsplit(".", 1)[-1]
        if name == "os.path.join" or (name.startswith("pathlib.") and last in {"Path", "PurePath", "PosixPath"}):
            joined = ""
            for argument in given[:20]:
                part = self._fold(argument, depth)
                if not isinstance(part, str):
                    raise NotKnown(f"“{self.short(node)}” is no constant")
                joined = part if part.startswith("/") or not joined else f"{joined.rstrip('/')}/{part}"
            return _bounded(joined)
        raise NotKnown(f"“{self.short(node)}” is computed at run time")

    def _timedelta(self, given: list[Node], depth: int) -> Duration:
        total = 0.0
        for position, argument in enumerate(given):
            if argument.type == "keyword_argument":
                unit = text_of(argument.child_by_field_name("name"))
                node = _field(argument, "value")
                if unit not in _TIMEDELTA:
                    raise NotKnown(f"timedelta has no argument {unit[:30]}")
                factor = _TIMEDELTA_SECONDS[_TIMEDELTA.index(unit)]
            elif position < len(_TIMEDELTA) and not argument.type.endswith("_splat"):
                node, factor = argument, _TIMEDELTA_SECONDS[position]
            else:
                raise NotKnown("the arguments of timedelta are not known")
            amount = self._fold(node, depth)
            if not _is_number(amount):
                raise NotKnown("the arguments of timedelta are not known")
            assert isinstance(amount, int | float)
            total += amount * factor
        return Duration(total)

    # what comes from outside

    def _holds_arguments(self, name: str) -> bool:
        """Whether a name stands for the parsed command line."""
        if name in _ARGUMENT_HOLDERS:
            return True
        found = self._bindings.get(name, [])
        return len(found) == 1 and found[0] is not None and parses_arguments(found[0])

    def _option(self, destination: str) -> Value:
        declared = self.options.get(destination) or self.declared_elsewhere(destination)
        if declared is None:
            raise NotKnown(f"an option “{destination}” is not declared here")
        if self.given is None:
            raise NotKnown(f"the option {declared.names[0]} decides it")
        value = self.given.get(*declared.names)
        if isinstance(value, Unknown):
            raise NotKnown(value.reason)
        if isinstance(value, Absent):
            default = declared.default
            if isinstance(default, Unknown):
                raise NotKnown(default.reason)
            return default.value if isinstance(default, Set) else None
        if declared.kind in {"flag", "unset"} and value.value == "":
            return declared.kind == "flag"
        return _cast(declared.kind, value.value) if declared.kind in {"int", "float"} else value.value

    def _environment_read(self, node: Node) -> tuple[Node, Node | None] | None:
        """The name and the default of an environment variable that an expression reads."""
        if node.type == "subscript":
            holder = node.child_by_field_name("value")
            names = node.children_by_field_name("subscript")
            if len(names) == 1 and self.resolve(holder) == "os.environ":
                return names[0], None
        elif node.type == "call":
            name = self.resolve(node.child_by_field_name("function"))
            if name in {"os.environ.get", "os.getenv", "os.environ.pop", "os.environ.setdefault"}:
                arguments = node.child_by_field_name("arguments")
                given = arguments.named_children if arguments is not None else []
                if given and given[0].type != "keyword_argument":
                    return given[0], given[1] if len(given) > 1 else None
        return None

    def _variable(self, read: tuple[Node, Node | None], depth: int) -> Value:
        name = self._fold(read[0], depth)
        if not isinstance(name, str):
            raise NotKnown("which environment variable is read is not known")
        if self.environment is None:
            raise NotKnown(f"the environment variable {name[:60]} decides it")
        value = self.environment.get(name)
        if isinstance(value, Unknown):
            raise NotKnown(value.reason)
        if isinstance(value, Set):
            return value.value
        default = read[1]
        if default is None:
            return None
        if default.type == "keyword_argument":
            default = _field(default, "value")
        return self._fold(default, depth)

    def _prefix(self, node: Node, depth: int) -> tuple[str, bool]:
        """The known beginning of a text, and whether it is the whole."""
        try:
            value = self._fold(node, depth)
            return (value, True) if isinstance(value, str) else ("", False)
        except NotKnown:
            pass
        if depth > MAX_DEPTH:
            return "", False
        if node.type == "string" and node.children:
            return self._string_prefix(node, depth + 1), False
        parts: list[Node] = []
        joint = ""
        if node.type == "concatenated_string":
            parts = node.named_children[:20]
        elif node.type == "binary_operator" and text_of(node.child_by_field_name("operator")) in {"+", "/"}:
            parts = [_field(node, "left"), _field(node, "right")]
            joint = "/" if text_of(node.child_by_field_name("operator")) == "/" else ""
        elif node.type == "call" and self.resolve(node.child_by_field_name("function")) == "os.path.join":
            arguments = node.child_by_field_name("arguments")
            parts = arguments.named_children[:20] if arguments is not None else []
            joint = "/"
        elif node.type == "call" and text_of(node.child_by_field_name("function")).endswith((".as_posix", ".resolve")):
            return "", False
        elif node.type == "identifier":
            found = self._bindings.get(text_of(node), [])
            if len(found) == 1 and found[0] is not None:
                return self._prefix(found[0], depth + 1)
        known = ""
        for part in parts:
            text, whole = self._prefix(part, depth + 1)
            known += (joint if known and not known.endswith("/") else "") + text
            if not whole:
                break
        return known, False

    def _string_prefix(self, node: Node, depth: int) -> str:
        known = ""
        for child in node.children[1:]:
            if child.type == "string_content":
                known += text_of(child)
            elif child.type == "interpolation" and child.named_child_count == 1:
                text, whole = self._prefix(child.named_children[0], depth)
                known += text
                if not whole:
                    break
            else:
                break
        return known


def _field(node: Node, name: str) -> Node:
    found = node.child_by_field_name(name)
    if found is None:
        raise NotKnown("it is not valid Python")
    return found


def _number(text: str) -> int | float:
    text = text.replace("_", "").lower()
    if len(text) > 40:
        raise NotKnown("the number is too long")
    try:
        return int(text, 0)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise NotKnown(f"“{text}” is no plain number") from None


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _arithmetic(left: float, sign: str, right: float) -> int | float:
    value: int | float | complex
    try:
        if sign == "**":
            if abs(right) > 64 or abs(left) > 1e6:
                raise NotKnown("the number is too large")
            value = pow(left, right)
        elif sign in {"<<", ">>"} and isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64:
            value = left << right if sign == "<<" else left >> right
        elif sign in _OPERATORS:
            value = _OPERATORS[sign](left, right)
        else:
            raise NotKnown(f"the operator {sign} is not followed")
    except (ZeroDivisionError, OverflowError, ValueError):
        raise NotKnown("the arithmetic fails") from None
    if isinstance(value, complex) or not abs(value) <= MAX_NUMBER:
        raise NotKnown("the number is too large")
    return value


def _of_durations(left: Value, sign: str, right: Value) -> Value:
    if isinstance(left, Duration) and isinstance(right, Duration) and sign in {"+", "-"}:
        return Duration(_arithmetic(left.seconds, sign, right.seconds))
    if isinstance(left, Duration) and _is_number(right) and sign in {"*", "/"}:
        assert isinstance(right, int | float)
        return Duration(_arithmetic(left.seconds, sign, right))
    if isinstance(right, Duration) and _is_number(left) and sign == "*":
        assert isinstance(left, int | float)
        return Duration(_arithmetic(left, sign, right.seconds))
    raise NotKnown("the arithmetic fails")


def _cast(kind: str, value: Value) -> Value:
    try:
        if kind == "str":
            return _shown(value)
        if isinstance(value, str | int | float):
            return int(value) if kind == "int" else float(value)
    except (ValueError, OverflowError):
        pass
    raise NotKnown(f"“{str(value)[:40]}” is no {kind}")


def _shown(value: Value) -> str:
    if isinstance(value, Duration | tuple):
        raise NotKnown("how it is written depends on Python")
    return str(value)


def _bounded(text: str) -> str:
    if len(text) > MAX_STRING:
        raise NotKnown("the text is too long")
    return text


def _unescape(found: re.Match[str]) -> str:
    text = found[1]
    if text in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[text]
    if text[0] in "xu" and len(text) > 1:
        code = int(text[1:], 16)
        return found[0] if 0xD800 <= code <= 0xDFFF else chr(code)
    if text[0] in "01234567":
        return chr(int(text, 8))
    return found[0]
